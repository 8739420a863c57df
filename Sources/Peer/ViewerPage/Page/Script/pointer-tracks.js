// The pointers of all viewers as the host tells them: where they are, their strokes and rings, and when these are gone. Without a document.

import { isPicturePoint } from './picture-point.js';

const palette = ['#e6194b', '#0082c8', '#3cb44b', '#f58231', '#911eb4', '#008080', '#d2a000', '#808000'];
const mostPointers = 64, mostStrokePoints = 256, mostRings = 8, nameLimit = 64, pointsPerEvent = 32;
// In milliseconds: how long each is shown. Pointers and strokes fade at the end of it.
const pointerTime = 2000, strokeTime = 5000, ringTime = 600, fadeTime = 400;
const kinds = ['move', 'click', 'draw', 'leave'];

export function pointerColor(id) { return palette[id % palette.length]; }

const opacity = (age, time) => Math.min(Math.max((time - age) / fadeTime, 0), 1);

export class PointerTracks {
    constructor() { this.tracks = new Map(); }

    // Takes the host's event. What is malformed is left out. `own`: the id of this viewer, which draws its own at once.
    take(event, own, now) {
        if (!Array.isArray(event.pointers)) return;
        for (const pointer of event.pointers.slice(0, mostPointers)) {
            if (!pointer || typeof pointer !== 'object') continue;
            const { id, from, kind, points } = pointer;
            if (!Number.isSafeInteger(id) || id < 0 || id === own || !kinds.includes(kind) || !Array.isArray(points)) continue;
            this.add({ id, kind, name: typeof from === 'string' ? from : '', points: points.slice(0, pointsPerEvent).filter(isPicturePoint) }, now);
        }
    }

    add({ id, kind, name, points }, now, isOwn = false) {
        this.expire(now);
        let track = this.tracks.get(id);
        if (!track) {
            if (this.tracks.size >= mostPointers || kind === 'leave' || !points.length) return;
            track = { name: '', isOwn, point: null, at: now, strokes: [], rings: [], isDrawing: false };
            this.tracks.set(id, track);
        }
        track.name = name.slice(0, nameLimit);
        if (kind === 'draw') drawOn(track, points, now);
        else track.isDrawing = false;
        if (kind === 'leave') track.point = null;
        if (kind === 'leave' || !points.length) return;
        const point = points[points.length - 1];
        if (kind === 'click') track.rings = [...track.rings, { point, at: now }].slice(-mostRings);
        // The viewer sees its own mouse.
        track.point = isOwn ? null : point;
        track.at = now;
    }

    expire(now) {
        for (const [id, track] of this.tracks) {
            if (now - track.at >= pointerTime) track.point = null;
            track.rings = track.rings.filter(({ at }) => now - at < ringTime);
            track.strokes = track.strokes.filter(({ at }) => now - at < strokeTime);
            if (!track.point && !track.rings.length && !track.strokes.length) this.tracks.delete(id);
        }
    }

    // What is to be seen now. A ring's `growth` goes from 0 to 1.
    shown(now) {
        this.expire(now);
        return [...this.tracks].map(([id, { name, point, at, strokes, rings }]) => ({
            id, name, color: pointerColor(id), point, opacity: opacity(now - at, pointerTime),
            strokes: strokes.map(stroke => ({ points: stroke.points, opacity: opacity(now - stroke.at, strokeTime) })),
            rings: rings.map(ring => ({ point: ring.point, growth: (now - ring.at) / ringTime })),
        }));
    }

    remove(id) { this.tracks.delete(id); }

    clear() { this.tracks.clear(); }
}

// Continues the track's stroke, or begins one. The oldest points go first.
function drawOn(track, points, now) {
    if (!points.length) return;
    let stroke = track.strokes[track.strokes.length - 1];
    if (!track.isDrawing || !stroke) {
        stroke = { points: [], at: now };
        track.strokes.push(stroke);
    }
    track.isDrawing = true;
    stroke.points.push(...points);
    stroke.at = now;
    let excess = track.strokes.reduce((sum, each) => sum + each.points.length, 0) - mostStrokePoints;
    while (excess > 0) {
        const removed = track.strokes[0].points.splice(0, excess).length;
        if (!track.strokes[0].points.length) track.strokes.shift();
        excess -= removed;
    }
}
