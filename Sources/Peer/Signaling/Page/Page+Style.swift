extension ViewerPage {
    /// Served under `/_/page.css`; `text/css`.
    static let style = ##"""
        :root { color-scheme: dark; --ink: #e8eaed; --soft: #9aa0a6; --line: #3c4043; --accent: #8ab4f8;
          --edge: max(.8rem, env(safe-area-inset-top), env(safe-area-inset-bottom)); }
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

        /* What is said, in the middle. */
        #panel { position: relative; width: min(32rem, 100% - 2rem); text-align: center; display: grid; gap: 1.1rem;
          max-height: 100vh; max-height: 100dvh; overflow-y: auto; padding: .5rem; }
        #status { font-size: 1.25rem; overflow-wrap: anywhere; text-wrap: balance; }
        #hint { color: var(--soft); font-size: .95rem; overflow-wrap: anywhere; text-wrap: pretty; }
        #hint:empty { display: none; }
        #words { border: 1px solid var(--line); border-radius: 14px; padding: 1rem; color: var(--soft); }
        #four { color: var(--ink); font-size: 1.6rem; line-height: 1.35; font-weight: 600; letter-spacing: .02em;
          word-spacing: .4em; text-wrap: balance; }
        form { display: grid; gap: 1rem; justify-items: center; }
        #naming { display: grid; gap: .4rem; justify-items: center; width: 100%; }
        label { color: var(--soft); font-size: .95rem; }
        input { width: min(20rem, 100%); padding: .6rem .8rem; font: inherit; color: inherit; background: #1b1e21;
          border: 1px solid var(--line); border-radius: 10px; text-align: center; }
        button { font: inherit; color: inherit; background: #2a2e32; border: 1px solid transparent; border-radius: 10px;
          padding: .45rem .9rem; cursor: pointer; }
        button:hover { background: #363b40; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        #panel :focus-visible { outline-offset: -2px; }
        #watch, #sound { background: var(--accent); color: #10203a; font-weight: 600; padding: .6rem 1.6rem; }
        #watch:focus-visible { outline: 2px solid #e8f0fe; outline-offset: 2px; }
        #watch:hover, #sound:hover { background: #a8c7fa; }
        #watch:disabled { background: #2a2e32; color: var(--soft); cursor: default; font-variant-numeric: tabular-nums; }
        #cancel { justify-self: center; color: var(--soft); background: transparent; border-color: var(--line); }
        #spinner { width: 2.2rem; height: 2.2rem; margin: 0 auto; border-radius: 50%; border: 3px solid var(--line);
          border-top-color: var(--accent); animation: turn 1s linear infinite; }
        @keyframes turn { to { transform: rotate(1turn); } }

        /* What lies over the picture: along its upper and its lower edge, never over its middle. */
        #head, #foot { position: absolute; left: .8rem; right: .8rem; display: flex; flex-direction: column; align-items: center;
          gap: .5rem; pointer-events: none; }
        #head { top: var(--edge); }
        #foot { bottom: var(--edge); flex-flow: row wrap; justify-content: center; }
        #foot > * { pointer-events: auto; }
        #notice { padding: .5rem 1rem; border-radius: 10px; background: rgba(32, 33, 36, .9); border: 1px solid var(--line); }
        #statistics { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5em, 1fr)); gap: 0 1em;
          width: 100%; max-width: 64rem; padding: .4rem .8rem; border-radius: 10px; background: rgba(32, 33, 36, .88);
          font-size: .8rem; line-height: 1.4; font-variant-numeric: tabular-nums; }
        #statistics div { display: flex; gap: .6em; white-space: nowrap; }
        #statistics div:last-child { grid-column: 1 / -1; white-space: normal; overflow-wrap: anywhere; }
        #statistics dt { flex: none; color: var(--soft); white-space: nowrap; }
        #bar { display: flex; flex-wrap: wrap; justify-content: center; align-items: center; gap: .6rem; padding: .5rem .6rem .5rem 1rem;
          border-radius: 14px; background: rgba(32, 33, 36, .88); transition: opacity .25s; white-space: nowrap; }
        #bar button { background: transparent; }
        #bar button:hover { background: #3c4043; }
        #mute.replaced { display: none; }
        #live::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .5em; border-radius: 50%;
          background: #f28b82; }
        #count { color: var(--soft); }
        #count:empty { display: none; }
        #stage.idle #bar:not(:focus-within) { opacity: 0; pointer-events: none; }

        /* Telephones, upright and lying. */
        @media (max-width: 30rem), (max-height: 30rem) {
          :root { --edge: max(.4rem, env(safe-area-inset-top), env(safe-area-inset-bottom)); }
          #head, #foot { left: .5rem; right: .5rem; }
          #bar { gap: .1rem .35rem; font-size: .8rem; padding: .2rem .5rem; }
          #bar button { padding: .4rem .45rem; }
          #sound { font-size: .9rem; padding: .35rem 1rem; }
          #statistics { font-size: .68rem; line-height: 1.3; padding: .2rem .5rem; }
        }
        @media (max-height: 30rem) {
          #panel, form { gap: .5rem; }
          #status { font-size: 1.1rem; }
          #hint, label { font-size: .85rem; }
          #words { padding: .4rem 1rem; }
          #four { font-size: 1.35rem; }
          #spinner { width: 1.5rem; height: 1.5rem; }
          [data-outage] #statistics { display: none; }
        }
        @media (prefers-reduced-motion: reduce) { #spinner { animation-duration: 6s; } #bar { transition: none; } }
        """##
}
