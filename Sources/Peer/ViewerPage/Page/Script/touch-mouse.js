// A finger as a mouse: a tap is a click, a drag has the left button down, and a long press is the right button. Two fingers are
// none (PanZoom). Without a document.

const slop = 10, longPress = 500;

export class TouchMouse {
    // `move(place)`, `button(number, isPressed)`: X11's numbers.
    constructor({ move, button }) {
        Object.assign(this, { move, button });
        this.finger = this.timer = null;
        this.isDragging = false;
        this.count = 0;
    }

    down(id, place) {
        this.count++;
        this.cancel();
        if (this.count > 1) return;
        this.finger = { id, from: place, place };
        this.timer = setTimeout(() => {
            this.move(place);
            this.click(3);
            this.finger = null;
        }, longPress);
    }

    moved(id, place) {
        const { finger } = this;
        if (!finger || finger.id !== id) return;
        if (!this.isDragging) {
            if (Math.hypot(place.x - finger.from.x, place.y - finger.from.y) < slop) return;
            clearTimeout(this.timer);
            this.isDragging = true;
            this.move(finger.from);
            this.button(1, true);
        }
        this.move(place);
    }

    up(id) {
        this.count = Math.max(this.count - 1, 0);
        const { finger, isDragging } = this;
        if (!finger || finger.id !== id) return;
        this.cancel();
        if (isDragging) return;
        this.move(finger.from);
        this.click(1);
    }

    // The finger does nothing more.
    cancel() {
        clearTimeout(this.timer);
        this.finger = null;
        if (this.isDragging) this.button(1, false);
        this.isDragging = false;
    }

    reset() {
        this.cancel();
        this.count = 0;
    }

    click(number) {
        this.button(number, true);
        this.button(number, false);
    }
}
