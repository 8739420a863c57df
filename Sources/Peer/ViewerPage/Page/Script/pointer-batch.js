// What this viewer's pointer has done since the last message: of moves the last one, of strokes all points, in their order.

// Of a message, and of all that wait: older points of a stroke are thinned out.
const pointsPerMessage = 32, mostPoints = 256;

export class PointerBatch {
    constructor() { this.parts = []; }

    get isEmpty() { return !this.parts.length; }

    // `kind` is the protocol's: 'move', 'click', 'draw' or 'leave'.
    add(kind, points = []) {
        const last = this.parts[this.parts.length - 1];
        const isSame = last && last.kind === kind;
        if (isSame && kind === 'draw') last.points = thinned([...last.points, ...points]);
        // A pointer that has left is nowhere, and one that comes back has not left.
        else if (last && last.kind === 'move' && (kind === 'move' || kind === 'leave')) Object.assign(last, { kind, points });
        else if (last && last.kind === 'leave' && kind === 'move') Object.assign(last, { kind, points });
        else if (!isSame || kind === 'click') this.parts.push({ kind, points });
        // Clicks that nobody can send are not sent later.
        if (this.parts.length > pointsPerMessage) this.parts.shift();
    }

    // The protocol's messages, 32 at most.
    take() {
        const messages = [];
        for (const { kind, points } of this.parts) {
            let first = 0;
            do {
                messages.push({ type: 'pointer', kind, points: points.slice(first, first + pointsPerMessage) });
                first += pointsPerMessage;
            } while (first < points.length);
        }
        this.parts = [];
        return messages.slice(-pointsPerMessage);
    }
}

function thinned(points) {
    if (points.length <= mostPoints) return points;
    const newest = points.slice(-pointsPerMessage), older = points.slice(0, -pointsPerMessage);
    return [...older.filter((_, index) => index % 2 === 0), ...newest];
}
