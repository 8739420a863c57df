// A document without a browser, for modules that show something: import it before them.

const elements = new Map();

function makeElement() {
    return { hidden: false, textContent: '', disabled: false, dataset: {}, addEventListener() {}, classList: { add() {}, remove() {}, toggle() {} } };
}

export function element(id) {
    if (!elements.has(id)) elements.set(id, makeElement());
    return elements.get(id);
}

globalThis.document = { documentElement: makeElement(), hidden: false, getElementById: element, addEventListener() {} };

// A desktop with a mouse.
globalThis.matchMedia = () => ({ matches: false });

export const root = globalThis.document.documentElement;
