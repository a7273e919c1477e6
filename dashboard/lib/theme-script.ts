// Runs before the first paint, from the page itself, so that nothing flashes.
export const THEME_SCRIPT =
  'try{var t=localStorage.getItem("theme")}catch(e){}document.documentElement.dataset.theme=t==="light"||t==="dark"?t:matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"';
