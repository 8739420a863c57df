// The link for the program `share` on this computer: the page's own address with the scheme `share`.

// Null for an address that is no link. Path, query and fragment stay as they are.
export function shareSchemeLink(address) { return /^https:\/\//.test(address) ? address.replace(/^https:/, 'share:') : null; }

// Whether `share` can be there: on Linux, and not on a device that has a touch screen alone. Android calls itself Linux, too.
export function canRunShare({ userAgent = '', platform = '', userAgentData }, hasTouchAlone) {
    const system = userAgentData && userAgentData.platform || platform;
    return !hasTouchAlone && /^Linux/.test(system) && !/Android/.test(userAgent);
}
