extension ViewerPage {
    /// Served under `/_/page.css`; `text/css`.
    static let style = ##"""
        :root { color-scheme: dark; --ink: #e8eaed; --soft: #9aa0a6; --line: #3c4043; --accent: #8ab4f8; }
        * { box-sizing: border-box; margin: 0; }
        [hidden] { display: none !important; }
        html, body { height: 100%; background: #101214; color: var(--ink); overflow: hidden; }
        body { font: 17px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        #stage { position: fixed; inset: 0; display: grid; place-items: center; background: #101214; }
        #video, #still { position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain; visibility: hidden; }
        [data-state="playing"] :is(#video, #still) { visibility: visible; }
        [data-state="playing"] #stage { background: #000; }
        [data-outage] :is(#video, #still) { filter: brightness(.38); }
        [data-outage] #sound { display: none; }
        [data-outage] #live { color: var(--soft); text-decoration: line-through; }
        [data-outage] #live::before { background: var(--soft); }
        [data-state="playing"] #panel { display: none; }
        #stage.idle { cursor: none; }
        #panel { position: relative; width: min(32rem, 100% - 3rem); text-align: center; display: grid; gap: 1.1rem;
          max-height: 100vh; overflow-y: auto; padding: .5rem; }
        #status { font-size: 1.25rem; overflow-wrap: anywhere; }
        #hint { color: var(--soft); font-size: .95rem; overflow-wrap: anywhere; }
        #hint:empty { display: none; }
        #words { border: 1px solid var(--line); border-radius: 14px; padding: 1rem; color: var(--soft); }
        #four { color: var(--ink); font-size: 1.6rem; font-weight: 600; letter-spacing: .02em; word-spacing: .4em; }
        form { display: grid; gap: .6rem; justify-items: center; }
        label { color: var(--soft); font-size: .95rem; }
        input { width: min(20rem, 100%); padding: .6rem .8rem; font: inherit; color: inherit; background: #1b1e21;
          border: 1px solid var(--line); border-radius: 10px; text-align: center; }
        button { font: inherit; color: inherit; background: #2a2e32; border: 1px solid transparent; border-radius: 10px;
          padding: .45rem .9rem; cursor: pointer; }
        button:hover { background: #363b40; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        #watch, #sound { background: var(--accent); color: #10203a; font-weight: 600; padding: .6rem 1.6rem; }
        #watch:hover, #sound:hover { background: #a8c7fa; }
        #sound { position: absolute; top: 1.2rem; }
        #notice { position: absolute; top: 1.2rem; max-width: calc(100% - 3rem); padding: .5rem 1rem; border-radius: 10px;
          background: rgba(32, 33, 36, .9); border: 1px solid var(--line); }
        #statistics { position: absolute; top: 1.2rem; left: 1.2rem; max-width: calc(100% - 2.4rem); padding: .5rem .8rem;
          border-radius: 10px; background: rgba(32, 33, 36, .88); border-spacing: .8rem .1rem; font-size: .85rem;
          font-variant-numeric: tabular-nums; overflow-wrap: anywhere; pointer-events: none; }
        #statistics td:first-child { color: var(--soft); white-space: nowrap; }
        #bar { position: absolute; bottom: max(1.2rem, env(safe-area-inset-bottom)); display: flex; flex-wrap: wrap;
          justify-content: center; align-items: center; gap: .6rem;
          max-width: calc(100% - 1rem); padding: .5rem .6rem .5rem 1rem; border-radius: 14px; background: rgba(32, 33, 36, .88);
          transition: opacity .25s; white-space: nowrap; }
        #bar button { background: transparent; }
        #bar button:hover { background: #3c4043; }
        #live::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .5em; border-radius: 50%;
          background: #f28b82; }
        #count { color: var(--soft); }
        #stage.idle #bar:not(:focus-within) { opacity: 0; pointer-events: none; }
        #spinner { width: 2.2rem; height: 2.2rem; margin: 0 auto; border-radius: 50%; border: 3px solid var(--line);
          border-top-color: var(--accent); animation: turn 1s linear infinite; }
        @keyframes turn { to { transform: rotate(1turn); } }
        @media (max-width: 30rem) { #bar { gap: .1rem .5rem; font-size: .9rem; } #bar button { padding: .35rem .6rem; } }
        @media (prefers-reduced-motion: reduce) { #spinner { animation-duration: 6s; } #bar { transition: none; } }
        """##
}
