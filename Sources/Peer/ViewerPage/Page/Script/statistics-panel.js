// The panel of statistics over the video, updated each second.

import { element, root } from './elements.js';
import { StatisticsReport } from './rtc-statistics.js';

const report = new StatisticsReport();
let timer = 0;

function hide() {
    clearInterval(timer);
    timer = 0;
    report.reset();
    element('statistics').hidden = true;
}

async function update(connection) {
    const pc = connection();
    if (!pc || root.dataset.state !== 'playing') return hide();
    try {
        const lines = report.lines([...(await pc.getStats()).values()], pc);
        element('statistics').replaceChildren(...lines.map(([name, value]) => {
            const row = document.createElement('div');
            for (const [tag, text] of [['dt', name], ['dd', value]]) row.appendChild(document.createElement(tag)).textContent = text;
            return row;
        }));
        element('statistics').hidden = timer === 0;
    } catch { /* The connection was closed meanwhile. */ }
}

// `connection` returns the RTCPeerConnection of now, or null.
export function toggleStatistics(connection) {
    if (timer) return hide();
    timer = setInterval(() => update(connection), 1000);
    update(connection);
}
