// The page's elements.

export const root = document.documentElement;
export function element(id) { return document.getElementById(id); }
export const stage = element('stage');
export const video = element('video');
export const lastFrame = element('last-frame');
export const microphone = element('microphone');
// Whether the main pointer is a finger.
export function isTouchScreen() { return matchMedia('(pointer: coarse)').matches; }
export function hasTouchAlone() { return matchMedia('(any-pointer: coarse)').matches && !matchMedia('(any-pointer: fine)').matches; }
