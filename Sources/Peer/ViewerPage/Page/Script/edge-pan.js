// Moves a picture that is larger than the page while the mouse is at an edge of the page.

// In CSS pixels and milliseconds.
const edgeBand = 24, panStep = 12, panInterval = 30;

// -1, 0 or 1, across and down.
export function edgeDirection({ x, y }, { width, height }) {
    const side = (value, length) => (value < edgeBand ? -1 : value > length - edgeBand ? 1 : 0);
    return [side(x, width), side(y, height)];
}

export class EdgePan {
    // `pan(across, down)` moves the picture.
    constructor(pan) {
        this.pan = pan;
        this.direction = [0, 0];
        this.timer = null;
    }

    // The mouse is at this place of a page of this size.
    at(place, size) {
        this.direction = edgeDirection(place, size);
        if (!this.direction.some(Boolean)) this.stop();
        else if (this.timer === null) this.timer = setInterval(() => this.pan(...this.direction.map(side => side * panStep)), panInterval);
    }

    stop() {
        clearInterval(this.timer);
        this.timer = null;
    }
}
