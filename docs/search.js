/* Search in a folder, and search for options. */

/** A worker as a page of a folder may have one: a frame that runs the same program. */
class IFrameWorker extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement('iframe');
    frame.hidden = true;
    frame.srcdoc = `<script>
      postMessage = (data) => parent.postMessage(data, '*');
      importScripts = () => Promise.resolve();
    </script><script src="${url}"></script>`;
    this.ready = new Promise((done) => { frame.addEventListener('load', done); });
    this.frame = frame;
    addEventListener('message', (event) => {
      if (event.source !== frame.contentWindow) return;
      const heard = new MessageEvent('message', {data: event.data});
      this.dispatchEvent(heard);
      this.onmessage?.(heard);
    });
    const begin = () => document.body.append(frame);
    if (document.body) begin();
    else addEventListener('DOMContentLoaded', begin);
  }

  postMessage(data) {
    this.ready.then(() => {
      this.frame.contentWindow.dispatchEvent(new MessageEvent('message', {data}));
    });
  }
}

if (location.protocol === 'file:') Object.assign(window, {Worker: IFrameWorker, IFrameWorker});

// A dash before a word would leave that word out: options are searched for as they are typed.
const {postMessage} = Worker.prototype;
Worker.prototype.postMessage = function send(message, ...rest) {
  const sent = typeof message?.data === 'string'
    ? {...message, data: message.data.replace(/(^|\s)-+(?=\S)/g, '$1')} : message;
  return postMessage.call(this, sent, ...rest);
};
