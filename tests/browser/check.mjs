// Opens pages in a browser and checks what a reader does: looks, hovers, sorts, zooms, in light and
// dark, wide and narrow. Prints one line a check; exit 1 where one fails. See README.md.
import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {createRequire} from 'node:module';
import {chromium} from 'playwright-core';
import {assemble} from './assemble.mjs';
import {capsPayload, explanationPayload, hostilePayload, payload, planPayload, smallPayload, storePayload} from './samples.mjs';

const BROWSER = process.env.PACELINE_BROWSER ?? '/usr/bin/chromium';
// Time from navigation to a page that can be used, and of a sort or a change of an axis, with 10,000 points.
const SECONDS_TO_READY = 3;
const SECONDS_TO_REACT = 1;
const EMPTY_PAGE_BYTES = 700_000;
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'paceline-pages-'));
let failures = 0;

function check(what, holds, detail = '') {
  console.log(`${holds ? 'ok    ' : 'FAILED'} ${what}${detail === '' ? '' : `: ${detail}`}`);
  failures += holds ? 0 : 1;
}

function written(name, made) {
  const path = join(folder, `${name}.html`);
  writeFileSync(path, assemble(made));
  return path;
}

// A tab that notes errors and requests other than for the page itself.
async function opened(browser, path, {width = 1280, theme = 'light'} = {}) {
  const context = await browser.newContext({viewport: {width, height: 900}, colorScheme: theme, bypassCSP: false});
  const tab = await context.newPage();
  const faults = [];
  tab.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  tab.on('pageerror', (error) => faults.push(error.message));
  tab.on('dialog', (dialog) => { faults.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  tab.on('request', (request) => !/^(file|data|blob):/.test(request.url()) && faults.push(`request ${request.url()}`));
  await tab.goto(pathToFileURL(path).href);
  await tab.waitForSelector('html[data-ready]', {timeout: 15_000, state: 'attached'});
  return {tab, faults, close: () => context.close()};
}

// axe is evaluated by the debugger, which the page's own policy does not bind.
async function violationsOf(tab) {
  await tab.evaluate(axeSource);
  const {violations} = await tab.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return violations.map((one) => `${one.id} (${one.nodes.length}): ${one.nodes[0].html.slice(0, 120)}`);
}

async function checkAccessible(browser, name, path) {
  for (const theme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      const {tab, faults, close} = await opened(browser, path, {width, theme});
      await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
      const where = `${name}, ${theme}, ${width} px`;
      const violations = await violationsOf(tab);
      check(`${where}: axe finds nothing`, violations.length === 0, violations.join('; '));
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
      check(`${where}: nothing to scroll sideways`, wide <= width, `${wide} px`);
      check(`${where}: no error, no request`, faults.length === 0, faults.join('; '));
      await close();
    }
  }
}

async function checkReading(browser, path) {
  const {tab, faults, close} = await opened(browser, path);
  const plot = tab.locator('figure .plot').first();
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await tab.mouse.move(box.x + box.width * 0.7, box.y + box.height * 0.5);
  const tip = blanks(await tab.locator('#tooltip').textContent());
  check('a point that is hovered shows its values', /GPUs/.test(tip) && /x/.test(tip), tip.slice(0, 60));
  await plot.focus();
  await tab.keyboard.press('ArrowRight');
  check('an arrow key reads a point', (await tab.locator('figure .readout').first().textContent()).length > 0);
  const [saved] = await Promise.all([tab.waitForEvent('download'), tab.locator('button.save').first().click()]);
  const svg = readFileSync(await saved.path(), 'utf8');
  check('a saved chart is an SVG with its styles', svg.includes('<svg') && !/class=|var\(--/.test(svg),
      `${saved.suggestedFilename()}, ${svg.length} bytes`);
  const [json] = await Promise.all([tab.waitForEvent('download'), tab.locator('.downloads button').first().click()]);
  check('a downloaded document is JSON', JSON.parse(readFileSync(await json.path(), 'utf8')).schema.length > 0);
  check('reading causes no error, no request', faults.length === 0, faults.join('; '));
  await close();
}

async function checkTable(browser, path) {
  const {tab, close} = await opened(browser, path);
  const first = () => tab.locator('table.points tbody tr td').first().textContent();
  await tab.locator('table.points th button').first().click();
  await tab.locator('table.points th button').first().click();
  check('a column sorts downwards at the second click', await first() === '512', await first());
  check('the sorted column says so', await tab.locator('table.points th').first().getAttribute('aria-sort') === 'descending');
  await tab.fill('#filter', 'gpus=8, bucket cap=25MiB, 400 gbps');
  const count = await tab.locator('.count').textContent();
  check('a filter leaves the rows that contain its words', /1 to 10 of 10 \(of 10,000\)/.test(count), count);
  await close();
}

async function checkTimeline(browser, path) {
  const {tab, faults, close} = await opened(browser, path);
  const plot = tab.locator('#timeline .plot');
  await plot.scrollIntoViewIfNeeded();
  const ticks = () => tab.locator('#timeline svg').textContent();
  const whole = await ticks();
  check('predicted stands above measured', whole.indexOf('predicted') < whole.indexOf('measured'));
  await plot.click({position: {x: 400, y: 60}});
  await tab.mouse.wheel(0, -400);
  await tab.waitForTimeout(200);
  const zoomed = await ticks();
  check('the wheel zooms the timeline', zoomed !== whole);
  await tab.keyboard.press('+');
  await tab.keyboard.press('ArrowRight');
  await tab.waitForTimeout(200);
  check('keys zoom and move it', await ticks() !== zoomed);
  await tab.getByRole('button', {name: 'Whole step'}).click();
  await tab.waitForTimeout(200);
  check('a button shows the whole step again', await ticks() === whole);
  await tab.locator('#timeline .chart text', {hasText: 'bucket 1'}).first().hover();
  const tip = blanks(await tab.locator('#tooltip').textContent());
  check('a span says bytes, algorithm, start and what it waited for',
      /25 MiB/.test(tip) && /ring/.test(tip) && /start 160 ms/.test(tip) && /waited for backward of layer 100/.test(tip), tip);
  check('the timeline causes no error', faults.length === 0, faults.join('; '));
  await close();
}

async function checkHostile(browser, path) {
  const {tab, faults, close} = await opened(browser, path);
  const name = '<img src=x onerror=alert(1)>';
  check('a hostile title shows as text', (await tab.locator('h1').textContent()).includes(`${name} </script>`));
  check('and becomes no element', await tab.locator('img, body script:not([type]):not(:last-of-type)').count() === 0);
  check('a placeholder in a text stays one', (await tab.locator('h1').textContent()).includes('{{js}}'));
  check('hostile texts cause no error, dialog or request', faults.length === 0, faults.join('; '));
  await close();
}

async function checkPolicy(browser, path) {
  const {tab, close} = await opened(browser, path);
  const ran = await tab.evaluate(() => new Promise((resolve) => {
    const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    document.body.append(script);
    setTimeout(() => resolve(window.injected === true), 100);
  }));
  check('the policy runs no script but the page\'s own', !ran);
  await close();
}

async function checkPrint(browser, path) {
  const {tab, close} = await opened(browser, path, {width: 680, theme: 'dark'});
  await tab.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await tab.emulateMedia({media: 'print'});
  check('on paper all sections are open', await tab.locator('main details:not([open])').count() === 0);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  check('a sheet is wide enough for the tables', wide <= 680, `${wide} px`);
  check('on paper there are no controls', await tab.locator('.controls:visible, button.save:visible').count() === 0);
  const ground = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  check('on paper the ground is white, also from a dark page', ground === 'rgb(255, 255, 255)', ground);
  await close();
}

// Lines do not break between a number and its unit; here that is a blank as any other.
const blanks = (text) => text.replace(/\u00a0/g, ' ');

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// Until two frames after: what was asked for is drawn.
const drawn = (act) => `new Promise((resolve) => { const from = performance.now(); ${act};
  requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - from))); })`;

async function checkSpeed(browser, path) {
  const times = {ready: [], sort: [], axis: [], filter: []};
  for (let round = 0; round < 5; round += 1) {
    const {tab, close} = await opened(browser, path);
    times.ready.push(await tab.evaluate('performance.now()'));
    times.sort.push(await tab.evaluate(drawn('document.querySelector("table.points th:nth-child(6) button").click()')));
    times.axis.push(await tab.evaluate(drawn(`const choice = [...document.querySelectorAll('select')][2];
        choice.selectedIndex += 1; choice.dispatchEvent(new Event('change'))`)));
    times.filter.push(await tab.evaluate(drawn(`const box = document.querySelector('#filter'); box.value = '400 gbps';
        box.dispatchEvent(new Event('input'))`)));
    await close();
  }
  const figure = (name) => `${median(times[name]).toFixed(0)} ms, median of 5`;
  check('10,000 points are ready in time', median(times.ready) < SECONDS_TO_READY * 1000, figure('ready'));
  for (const name of ['sort', 'axis', 'filter']) {
    check(`10,000 points: ${name}`, median(times[name]) < SECONDS_TO_REACT * 1000, figure(name));
  }
}

// What a sweep of bucket caps shows first: the best point, the line near its values, and a table that scrolls.
async function checkSweep(browser, path) {
  const {tab, faults, close} = await opened(browser, path);
  const chosen = await tab.locator('#timeline select').first().evaluate((one) => one.selectedOptions[0].textContent);
  check('the timeline begins with the point that the answer names', chosen === '32 GPUs, bucket cap 50MiB', chosen);
  const chart = tab.locator('figure', {hasText: 'By bucket cap'});
  const caption = () => chart.locator('.caption').textContent();
  check('a band that dwarfs the line is not drawn, and the axis says where it starts',
      /^The axis starts at 1\.5 s\..*tick the box/.test(blanks(await caption())) && await chart.locator('.band').count() === 0);
  await chart.getByLabel('90 % interval').check();
  check('a tick draws the band', await chart.locator('path.band').count() === 1 && await caption() === '');
  const edges = tab.locator('#points .edges');
  const classes = () => edges.getAttribute('class');
  const before = await classes();
  await edges.locator('.scroll').evaluate((box) => { box.scrollLeft = box.scrollWidth; });
  await tab.waitForTimeout(100);
  check('a table that is cut has a shadow where columns are hidden', before === 'edges more-right' &&
      await classes() === 'edges more-left', `${before}, ${await classes()}`);
  check('a sweep causes no error', faults.length === 0, faults.join('; '));
  await close();
}

const pages = {caps: written('caps', capsPayload()), plan: written('plan', planPayload()),
  explanation: written('explanation', explanationPayload()), hostile: written('hostile', hostilePayload()), small: written('small', smallPayload()),
  store: written('store', storePayload()), empty: written('empty', payload('Empty', []))};
const size = statSync(pages.empty).size;
check('a page without data is small', size < EMPTY_PAGE_BYTES, `${size} bytes`);
const browser = await chromium.launch({executablePath: BROWSER, args: ['--no-sandbox']});
try {
  await checkReading(browser, pages.small);
  await checkTable(browser, pages.store);
  await checkTimeline(browser, pages.hostile);
  await checkSweep(browser, pages.caps);
  await checkHostile(browser, pages.hostile);
  await checkPolicy(browser, pages.small);
  await checkPrint(browser, pages.small);
  await checkSpeed(browser, pages.store);
  await checkAccessible(browser, 'hostile', pages.hostile);
  for (const name of ['store', 'caps', 'plan', 'explanation']) await checkAccessible(browser, name, pages[name]);
  for (const path of process.argv.slice(2)) await checkAccessible(browser, basename(path), path);
} finally {
  await browser.close();
  rmSync(folder, {recursive: true});
}
console.log(failures === 0 ? 'all checks hold' : `${failures} checks failed`);
process.exitCode = failures === 0 ? 0 : 1;
