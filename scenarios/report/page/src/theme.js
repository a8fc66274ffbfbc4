// Light, dark, or as the system has it.

import {html} from './dom.js';

const NEXT = {auto: 'dark', dark: 'light', light: 'auto'};
const KEY = 'paceline-theme';

// A page from file:// may have no storage; then the choice lasts as long as the page.
function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // See stored().
  }
}

export function themeButton() {
  let theme = stored() in NEXT ? stored() : 'auto';
  const button = html('button', {type: 'button', class: 'theme', click: () => {
    theme = NEXT[theme];
    keep(theme);
    apply();
  }});
  const apply = () => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  apply();
  return button;
}
