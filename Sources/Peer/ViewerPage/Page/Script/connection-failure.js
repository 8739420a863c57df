// Why no candidate pair works, for whoever has to find the cause.

import { isLoopback, udpCandidates } from './sdp.js';

// Addresses and types of a description, at most four.
function describeCandidates(sdp) {
    const types = { srflx: ' (public)', relay: ' (TURN)' };
    const found = new Set(udpCandidates(sdp).map(
        ({ address, type }) => (address.endsWith('.local') ? 'a hidden address' : address) + (types[type] || '')));
    return found.size ? [...found].slice(0, 4).join(', ') : 'none';
}

export function describeFailure(localSDP, remoteSDP, hasTURN) {
    const local = udpCandidates(localSDP), remote = udpCandidates(remoteSDP);
    const tried = `Addresses tried here: ${describeCandidates(localSDP)}; at the host: ${describeCandidates(remoteSDP)}.`;
    if (!local.length) {
        return `This browser has no usable address: it has no network, or a setting or an extension forbids it. ${tried}`;
    }
    if (!remote.length) return `The host found no address that this browser could try. ${tried}`;
    if (remote.every(({ address }) => isLoopback(address))) {
        return 'The host has only a loopback address, and this browser does not connect to it. '
            + `Watch with share join on that machine, or connect it to a network. ${tried}`;
    }
    return hasTURN
        ? `A firewall or the router of one side blocks it. ${tried} The host named a TURN server, which did not help: a firewall may block UDP.`
        : `A firewall or the router of one side blocks it. ${tried} No TURN server is configured: the host can name one with --turn.`;
}
