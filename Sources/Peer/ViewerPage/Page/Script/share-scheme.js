// The link for the program `share` on this computer, as the program writes links: with the port, the identifier in capitals, and
// nothing else.

// Null for a page that is not at a link's address.
export function shareSchemeLink({ protocol, hostname, port, hash }, id) {
    return protocol === 'https:' ? `share://${hostname}:${port || 443}/${id}${hash}` : null;
}

// Whether `share` can be there: on Linux, and not on a device that has a touch screen alone. Android calls itself Linux, too.
export function canRunShare({ userAgent = '', platform = '', userAgentData }, hasTouchAlone) {
    const system = userAgentData && userAgentData.platform || platform;
    return !hasTouchAlone && /^Linux/.test(system) && !/Android/.test(userAgent);
}
