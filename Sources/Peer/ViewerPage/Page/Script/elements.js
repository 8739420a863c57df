// The page's elements.

export const root = document.documentElement;
export function element(id) { return document.getElementById(id); }
export const stage = element('stage');
export const video = element('video');
export const lastFrame = element('last-frame');
export const microphone = element('microphone');
// Whether an event of this element is one of the picture, or of the room around it, and not of a button.
export function isPictureElement(target) { return [stage, video, lastFrame].includes(target); }
// Whether the main pointer is a finger.
export function isTouchScreen() { return matchMedia('(pointer: coarse)').matches; }
export function hasTouchAlone() { return matchMedia('(any-pointer: coarse)').matches && !matchMedia('(any-pointer: fine)').matches; }
