// Pinch, pan and double tap of the frame: pure geometry and the recognition of the gestures, without a document.
//
// A transform { scale, x, y } shows the point p of the place at scale * p + (x, y), in CSS pixels from the place's upper left corner.
// A layout has the place's size, the frame's rectangle in it at scale 1, and the scale at which one pixel of the frame is one of the
// screen: { place: { width, height }, frame: { left, top, width, height }, pixelScale }.

export const unzoomed = { scale: 1, x: 0, y: 0 };
const maximumScale = 8;
// In CSS pixels and milliseconds, as in the gesture detectors of Android.
const tapSlop = 12, tapDuration = 400, doubleTapInterval = 300, doubleTapSlop = 40;

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
const middleOf = points => ({ x: (points[0].x + points[points.length - 1].x) / 2, y: (points[0].y + points[points.length - 1].y) / 2 });

// A frame that is smaller than the place is in its middle; a larger one leaves no gap at the place's edges.
function clampOffset(offset, scale, start, length, room) {
    const shown = scale * length;
    if (shown <= room) return (room - shown) / 2 - scale * start;
    return clamp(offset, room - scale * (start + length), -scale * start);
}

export function clampTransform({ scale, x, y }, { place, frame }) {
    const clamped = clamp(scale, 1, maximumScale);
    // Half a pixel from the middle would blur text.
    if (clamped === 1) return unzoomed;
    return {
        scale: clamped,
        x: clampOffset(x, clamped, frame.left, frame.width, place.width),
        y: clampOffset(y, clamped, frame.top, frame.height, place.height),
    };
}

// Scales so that what was at `from` is at `to`.
function scaleAt(transform, scale, from, to, layout) {
    const clamped = clamp(scale, 1, maximumScale), growth = clamped / transform.scale;
    const moved = { scale: clamped, x: to.x - growth * (from.x - transform.x), y: to.y - growth * (from.y - transform.y) };
    return clampTransform(moved, layout);
}

// The transform after one finger or two have moved. `from` and `to`: their points, in the same order.
export function dragTransform(transform, from, to, layout) {
    const growth = from.length > 1 ? distance(to[0], to[1]) / Math.max(distance(from[0], from[1]), 1) : 1;
    return scaleAt(transform, transform.scale * growth, middleOf(from), middleOf(to), layout);
}

// Shows pixels of the frame as pixels of the screen, or twice the size where they nearly are; back from any other scale.
export function doubleTapTransform(transform, point, layout) {
    if (transform.scale > 1) return unzoomed;
    return scaleAt(transform, layout.pixelScale >= 1.5 ? layout.pixelScale : 2, point, point, layout);
}

// What was in the middle of the former place is in the middle of the new one.
export function resizeTransform({ scale, x, y }, former, layout) {
    const place = (size, start, length, offset) => ((size / 2 - offset) / scale - start) / length;
    const across = place(former.place.width, former.frame.left, former.frame.width, x);
    const down = place(former.place.height, former.frame.top, former.frame.height, y);
    return clampTransform({
        scale,
        x: layout.place.width / 2 - scale * (layout.frame.left + across * layout.frame.width),
        y: layout.place.height / 2 - scale * (layout.frame.top + down * layout.frame.height),
    }, layout);
}

// Follows at most two fingers. Each change of their number begins the drag anew, so that nothing jumps.
export class PanZoom {
    constructor() {
        this.transform = this.transformAtStart = unzoomed;
        this.layout = null;
        this.fingers = new Map();
        // The touch that may become a tap, and the tap that may become a double tap.
        this.press = this.formerTap = null;
        // One finger moves nothing and taps nothing.
        this.isSingleReserved = false;
        // Where two fingers that move together turn a wheel: gets the place where they began, and the way of each step. Null: they move
        // the frame. Those that move to each other, or apart, zoom in any case.
        this.scroll = null;
        // What the two fingers do: 'zoom', { scrollFrom }, or null as long as nobody knows.
        this.pair = null;
    }

    // Null while no frame is shown.
    setLayout(layout) {
        if (!layout) this.transform = unzoomed;
        else if (this.layout) this.transform = resizeTransform(this.transform, this.layout, layout);
        this.layout = layout;
        this.beginDrag();
    }

    down(id, point, now) {
        if (this.fingers.size === 2) return;
        this.press = this.fingers.size ? null : { point, now };
        this.fingers.set(id, { from: point, to: point });
        this.pair = null;
        this.beginDrag();
    }

    // Returns whether the finger is followed.
    move(id, point) {
        const finger = this.fingers.get(id);
        if (!finger) return false;
        finger.to = point;
        if (this.isSingleReserved && this.fingers.size === 1) {
            finger.from = point;
            return true;
        }
        if (this.press && distance(this.press.point, point) > tapSlop) {
            this.press = null;
            this.beginDrag();
        }
        if (this.press || !this.layout || this.scroll && this.fingers.size === 2 && !this.isZoom()) return true;
        const fingers = [...this.fingers.values()];
        this.transform = dragTransform(this.transformAtStart, fingers.map(({ from }) => from), fingers.map(({ to }) => to), this.layout);
        return true;
    }

    // Whether the two fingers zoom. Otherwise they scroll, or have moved too little.
    isZoom() {
        if (this.pair === 'zoom') return true;
        const fingers = [...this.fingers.values()], from = fingers.map(finger => finger.from), to = fingers.map(finger => finger.to);
        const was = middleOf(from), is = middleOf(to);
        if (this.pair) {
            this.scroll(this.pair.scrollFrom, is.x - was.x, is.y - was.y);
        } else {
            // The events of the two come one after the other, and one of both may stay where it is.
            const ways = fingers.map(finger => distance(finger.from, finger.to));
            if (Math.min(...ways) < tapSlop && Math.max(...ways) < 3 * tapSlop) return false;
            this.pair = Math.abs(distance(...to) - distance(...from)) > distance(was, is) ? 'zoom' : { scrollFrom: was };
        }
        this.beginDrag();
        return this.pair === 'zoom';
    }

    // Returns 'tap', 'double tap' (its first tap was returned, too) or null.
    up(id, now) {
        if (!this.fingers.has(id)) return null;
        const { press } = this;
        this.cancel(id);
        if (!press || this.isSingleReserved || now - press.now > tapDuration) return null;
        const former = this.formerTap;
        if (!former || press.now - former.now > doubleTapInterval || distance(former.point, press.point) > doubleTapSlop) {
            this.formerTap = { point: press.point, now };
            return 'tap';
        }
        this.formerTap = null;
        if (this.layout) this.transform = doubleTapTransform(this.transform, press.point, this.layout);
        return 'double tap';
    }

    cancel(id) {
        if (!this.fingers.delete(id)) return;
        this.press = this.pair = null;
        this.beginDrag();
    }

    beginDrag() {
        this.transformAtStart = this.transform;
        for (const finger of this.fingers.values()) finger.from = finger.to;
    }
}
