// Parses server-sent events (HTML Standard 9.2.6) whose data is JSON. The page reads them with fetch, as EventSource sends no headers.

const maximumLength = 65536;

export class EventStreamParser {
    constructor() { this.rest = ''; }

    // The events that `text` completes. What is no JSON is ignored. Throws if an event is too long.
    push(text) {
        this.rest += text;
        if (this.rest.length > maximumLength) throw new Error('event too long');
        const blocks = this.rest.split(/\r?\n\r?\n/);
        this.rest = blocks.pop();
        const events = [];
        for (const block of blocks) {
            const data = block.split(/\r?\n/).filter(line => line.startsWith('data:')).map(line => line.slice(5).trim()).join('\n');
            if (!data) continue;
            try { events.push(JSON.parse(data)); } catch { /* No event of ours. */ }
        }
        return events;
    }
}
