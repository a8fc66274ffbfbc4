// Pictures of pages, to be looked at: node screenshots.mjs DIR page.html ...
import {mkdirSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {chromium} from 'playwright-core';

const [folder, ...pages] = process.argv.slice(2);
if (!folder || pages.length === 0) {
  console.error('usage: node screenshots.mjs DIR page.html ...');
  process.exit(2);
}
mkdirSync(folder, {recursive: true});
const browser = await chromium.launch(
    {executablePath: process.env.PACELINE_BROWSER ?? '/usr/bin/chromium', args: ['--no-sandbox']});
for (const page of pages) {
  for (const theme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      const context = await browser.newContext({viewport: {width, height: 900}, colorScheme: theme});
      const tab = await context.newPage();
      await tab.goto(pathToFileURL(resolve(page)).href);
      await tab.waitForSelector('html[data-ready]', {state: 'attached'});
      const path = join(folder, `${basename(page, '.html')}-${width}-${theme}.png`);
      await tab.screenshot({path, fullPage: true});
      console.log(path);
      await context.close();
    }
  }
}
await browser.close();
