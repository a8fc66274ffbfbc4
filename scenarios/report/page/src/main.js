// Builds the page: each section where its data are in the payload.

import {html} from './dom.js';
import {changedLines, describedLines} from './data/described.js';
import {hasPoints, pointsOf} from './data/points.js';
import {redrawAll} from './charts/figure.js';
import {readPayload} from './payload.js';
import {pointsAnswer} from './sections/answer.js';
import {adviceSection} from './sections/advice.js';
import {assumptions, failures} from './sections/assumptions.js';
import {capacityDetails, capacitySection} from './sections/capacity.js';
import {comparisonSection} from './sections/comparison.js';
import {curveChart} from './sections/curves.js';
import {explanationSection} from './sections/explanation.js';
import {heatMap} from './sections/heat_map.js';
import {partsChart} from './sections/parts.js';
import {PointsTable} from './sections/points_table.js';
import {scalingChart} from './sections/scaling.js';
import {section} from './sections/section.js';
import {context, downloads, scenarioText, unknown} from './sections/source.js';
import {strategiesSection} from './sections/strategies.js';
import {timelineSection} from './sections/timeline.js';
import {leftOutSection, validationSection} from './sections/validation.js';
import {themeButton} from './theme.js';
import {metricsOf} from './data/fields.js';

const SHOWN = {
  'paceline.advice/1': adviceSection,
  'paceline.capacity/1': capacitySection,
  'paceline.comparison/1': comparisonSection,
  'paceline.explanation/1': explanationSection,
  'paceline.strategies/1': strategiesSection,
  'paceline.validation/1': validationSection,
  'paceline.left-out/1': leftOutSection,
};

// What was found, and below what other documents say the points one by one.
function pointSections(documents, points) {
  const hasScale = points.axes.some((axis) => axis.name === 'gpus') && metricsOf(points.rows).length > 0;
  const curve = curveChart(points);
  const charts = [hasScale ? scalingChart(points, curve !== null) : null, curve, partsChart(points),
    heatMap(points)].filter(Boolean);
  return [section('answer', 'Result', pointsAnswer(points, documents)),
    charts.length > 0 ? section('charts', 'Charts', html('div', {class: 'charts'}, charts)) : null];
}

function tableSection(points) {
  return section('points', 'All points', new PointsTable(points).element(), failures(points), assumptions(points));
}

function documentSections(documents) {
  const known = documents.filter((document) => document.content?.schema in SHOWN);
  return known.map((document, index) => SHOWN[document.content.schema](document.content,
      {id: `document-${index}`, name: known.length > 1 ? document.name : ''}));
}

function restOf(payload) {
  const {documents} = payload;
  const unknowns = documents.filter((document) => !hasPoints(document) &&
      !(document.content?.schema in SHOWN) && document.content?.schema !== 'paceline.steps/1');
  return section('source', 'Source', scenarioText(payload), documents.map(capacityDetails), context(documents),
      unknowns.map(unknown), downloads(documents));
}

function header(payload) {
  return html('header', {}, html('div', {class: 'title'}, html('h1', {}, payload.title), themeButton()),
      describedLines(payload.documents).map(({name, value}) => html('p', {class: 'described'}, name ? `${name}: ` : null,
          value.join(' · '))),
      changedLines(payload.documents).map(({name, value}) => html('p', {class: 'described'}, name ? `${name}, ` : null,
          'changed: ', value.map((one, index) => [index > 0 ? ', ' : null, html('code', {}, one)]))),
      payload.command ? html('p', {class: 'command'}, html('code', {}, payload.command)) : null);
}

function contents(sections) {
  return html('nav', {'aria-label': 'Sections'}, sections.map((element) => html('a',
      {href: `#${element.id}`}, element.querySelector('h2').textContent)));
}

function footer(payload) {
  return html('footer', {}, html('p', {}, `Made by ${payload.made_by}. This file loads nothing from elsewhere.`),
      html('details', {}, html('summary', {}, 'Licences of the libraries in this page'),
          html('pre', {tabindex: 0}, LICENCES)));
}

function build(payload) {
  const {documents} = payload;
  const points = pointsOf(documents);
  const hasRows = points.rows.length > 0;
  const made = [...(hasRows ? pointSections(documents, points) : []), ...documentSections(documents).flat(),
    timelineSection(documents, points), hasRows ? tableSection(points) : null, restOf(payload)].filter(Boolean);
  document.title = payload.title;
  document.body.prepend(header(payload), contents(made.filter((element) => element.id)),
      html('main', {}, made), footer(payload));
  document.documentElement.dataset.ready = 'yes';
}

// On paper all is open, colours are those of the light theme, and charts are as wide as A4 (210 mm)
// between margins of 15 mm, at 96 px per inch.
const PAPER_WIDTH = 680;

function preparePrinting() {
  let opened = [];
  let theme;
  const page = document.documentElement;
  addEventListener('beforeprint', () => {
    theme = page.dataset.theme;
    page.dataset.theme = 'light';
    opened = [...document.querySelectorAll('main details:not([open])')];
    opened.forEach((details) => { details.open = true; });
    redrawAll(PAPER_WIDTH);
  });
  addEventListener('afterprint', () => {
    opened.forEach((details) => { details.open = false; });
    if (theme === undefined) delete page.dataset.theme;
    else page.dataset.theme = theme;
    redrawAll();
  });
}

try {
  build(readPayload());
  preparePrinting();
} catch (error) {
  document.body.prepend(html('p', {role: 'alert'}, `This report cannot be shown: ${error.message}`));
  throw error;
}
