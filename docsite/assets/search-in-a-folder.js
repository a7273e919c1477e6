// Browsers refuse workers to a page that was opened from a folder: the search then runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const own = new URL(url, location);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = (this.inside = frame.contentWindow);
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          Object.assign(script, { src: new URL(source, own), onload: done, onerror: failed });
          inside.document.body.append(script);
        });
      inside.importScripts = (...sources) => Promise.all(sources.map(load));
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = load(own);
    }
    async postMessage(data) {
      await this.loaded;
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
