// The chart of a page that has this heading, as its button "Save SVG" saves it: node picture.mjs page.html HEADING out.svg
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

const [page, heading, out] = process.argv.slice(2);
if (!out) {
  console.error('usage: node picture.mjs page.html HEADING out.svg');
  process.exit(2);
}
const browser = await chromium.launch(
    {executablePath: process.env.PACELINE_BROWSER ?? '/usr/bin/chromium', args: ['--no-sandbox']});
const tab = await browser.newPage({viewport: {width: 1280, height: 900}, colorScheme: 'light'});
await tab.goto(pathToFileURL(resolve(page)).href);
await tab.waitForSelector('html[data-ready]', {state: 'attached'});
const figure = tab.locator('figure').filter({hasText: heading}).first();
const [download] = await Promise.all([tab.waitForEvent('download'), figure.getByRole('button', {name: 'Save SVG'}).click()]);
await download.saveAs(out);
await browser.close();
