// Bundles src/main.js and page.css, and fills the hashes into template.html; see README.md.
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {build} from 'esbuild';

const PRODUCTS = ['LICENSES', 'bundle/page.css', 'bundle/page.html', 'bundle/page.js'];

const sha256 = (bytes, encoding) => createHash('sha256').update(bytes).digest(encoding);

function sourceFiles() {
  const below = readdirSync('src', {recursive: true}).map((path) => join('src', path));
  const scripts = below.filter((path) => path.endsWith('.js'));
  return ['build.mjs', 'build.sh', 'package-lock.json', 'package.json', 'page.css',
    'template.html', ...scripts].sort();
}

// The same as `sha256sum FILES | sha256sum` with the files in the order of their bytes.
function sourcesHash() {
  const lines = sourceFiles().map((path) => `${sha256(readFileSync(path), 'hex')}  ${path}\n`);
  return sha256(lines.join(''), 'hex');
}

function bundle(entry, banner, define = {}) {
  return build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2020',
    charset: 'ascii',
    legalComments: 'inline',
    banner,
    define,
  });
}

// Every package whose code is in the bundle, with its licence.
function licencesOf(metafile) {
  const inputs = Object.values(metafile.outputs)[0].inputs;
  const used = Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0);
  const folders = new Set(
      used.map((path) => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  const texts = [...folders].sort().map((folder) => {
    const {name, version, license} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return {name: `${name} ${version} (${license})`,
      text: readFileSync(join(folder, 'LICENSE'), 'utf8').trim()};
  });
  return grouped(texts);
}

// Packages that share a licence word for word are named above it, once.
function grouped(texts) {
  const names = new Map();
  for (const {name, text} of texts) names.set(text, [...(names.get(text) ?? []), name]);
  return [...names].map(([text, all]) => `${all.join(', ')}\n\n${text}\n`).join('\n');
}

// The products by path. Hashes of inline scripts and styles: CSP Level 3, section 6.7.3.
async function products() {
  const stamp = `/* sources sha256 ${sourcesHash()} */`;
  const first = await bundle('src/main.js', {}, {LICENCES: '""'});
  const licences = licencesOf(first.metafile);
  const kept = `${stamp}\n/*!\n${licences.replaceAll('*/', '* /')}*/`;
  const script = (await bundle('src/main.js', {js: kept}, {LICENCES: JSON.stringify(licences)}))
                     .outputFiles[0].text;
  const style = (await bundle('page.css', {css: stamp})).outputFiles[0].text;
  const page = readFileSync('template.html', 'utf8')
                   .replace('{{script_hash}}', `sha256-${sha256(script, 'base64')}`)
                   .replace('{{style_hash}}', `sha256-${sha256(style, 'base64')}`);
  return {'LICENSES': licences, 'bundle/page.css': style, 'bundle/page.html': page,
    'bundle/page.js': script};
}

// What would end an element of the page early, or a raw string literal of C++.
function refuseUnsafe(path, text) {
  const unsafe = /<\/script|<\/style|<!--|\)shipped"|\r|[^\x00-\x7f]/i.exec(text);
  if (unsafe && path.startsWith('bundle/') && path !== 'bundle/page.html') {
    throw new Error(`${path}: contains ${JSON.stringify(unsafe[0])} at ${unsafe.index}`);
  }
}

process.chdir(dirname(new URL(import.meta.url).pathname));
const made = await products();
let differing = 0;
for (const path of PRODUCTS) {
  refuseUnsafe(path, made[path]);
  if (process.argv.includes('--check')) {
    const same = existsSync(path) && readFileSync(path, 'utf8') === made[path];
    if (!same) console.error(`${path}: is not what the sources give; run build.sh`);
    differing += same ? 0 : 1;
  } else {
    mkdirSync(dirname(path), {recursive: true});
    writeFileSync(path, made[path]);
    console.log(`${path}: ${Buffer.byteLength(made[path])} bytes`);
  }
}
process.exitCode = differing === 0 ? 0 : 1;
