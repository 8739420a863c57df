// The page's elements.

export const root = document.documentElement;
export function element(id) { return document.getElementById(id); }
export const stage = element('stage');
export const video = element('video');
export const lastFrame = element('last-frame');
export const microphone = element('microphone');
