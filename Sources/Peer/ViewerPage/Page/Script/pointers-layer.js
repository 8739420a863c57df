// Shows the pointers of all viewers over the picture. It draws only while there is one.

import { element } from './elements.js';
import { stagePoint } from './picture-point.js';
import { PointerTracks } from './pointer-tracks.js';
import { shownFrameRectangle } from './touch-gestures.js';

const namespace = 'http://www.w3.org/2000/svg';
// From its tip, in CSS pixels.
const arrow = 'M0 0V18L4.6 14.2 7.4 21 10.6 19.7 7.8 13H13Z';
const ringRadius = 28;

function shape(name, attributes) {
    const made = document.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
}

const near = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;

export class PointersLayer {
    constructor() {
        this.tracks = new PointerTracks();
        // Of this viewer, once it may point.
        this.own = null;
        this.request = 0;
    }

    // The event `pointers`.
    show(event) {
        this.tracks.take(event, this.own, performance.now());
        this.draw();
    }

    // What this viewer draws, before the host has it.
    showOwn(kind, points) {
        if (this.own === null) return;
        this.tracks.add({ id: this.own, kind, name: '', points }, performance.now(), true);
        this.draw();
    }

    setOwn(id) {
        if (id !== this.own && id !== null) this.tracks.remove(id);
        this.own = id;
    }

    clear() {
        this.own = null;
        this.tracks.clear();
        this.draw();
    }

    draw() {
        if (!this.request) this.request = requestAnimationFrame(() => this.drawNow());
    }

    drawNow() {
        this.request = 0;
        const shown = this.tracks.shown(performance.now()), rectangle = shownFrameRectangle();
        element('pointers').replaceChildren(...(rectangle ? shown.map(pointer => this.pointerShape(pointer, rectangle)) : []));
        if (shown.length) this.draw();
    }

    pointerShape({ id, name, color, point, opacity, strokes, rings }, rectangle) {
        const group = shape('g', { 'data-pointer': id, stroke: color, fill: 'none' });
        for (const stroke of strokes) {
            // A line of no length is a dot.
            const corners = stroke.points.map(each => near(stagePoint(rectangle, each)));
            group.append(shape('path', {
                d: `M${corners[0]}L${(corners.length > 1 ? corners.slice(1) : corners).join(' ')}`, opacity: stroke.opacity,
                'stroke-width': 4, 'stroke-linecap': 'round', 'stroke-linejoin': 'round',
            }));
        }
        for (const ring of rings) {
            const { x, y } = stagePoint(rectangle, ring.point);
            group.append(shape('circle', { cx: x, cy: y, r: ringRadius * (0.2 + 0.8 * ring.growth), opacity: 1 - ring.growth, 'stroke-width': 4 }));
        }
        if (point) group.append(this.arrowShape(name, color, stagePoint(rectangle, point), opacity));
        return group;
    }

    arrowShape(name, color, place, opacity) {
        const group = shape('g', { transform: `translate(${near(place)})`, opacity });
        group.append(shape('path', { d: arrow, fill: color, stroke: '#fff', 'stroke-width': 1.5, 'stroke-linejoin': 'round' }));
        if (!name) return group;
        const label = shape('text', { x: 14, y: 30, fill: '#fff', stroke: color, 'stroke-width': 5, 'stroke-linejoin': 'round', 'paint-order': 'stroke' });
        label.textContent = name;
        group.append(label);
        return group;
    }
}
