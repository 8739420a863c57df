// Gets the credentials of the host's TURN servers anew before they expire, for ICE restarts, other sessions and reloads that come.

import { expiresSoon, firstExpiry } from './admission.js';

// After half of the time for which credentials are still valid they are got anew, but not earlier than this, and after some renewals
// not that often: the host decides how long they are valid. `afterFailure`: an older host does not tell its servers.
const waits = { shortest: 2000, quickRenewals: 8, later: 30000, afterFailure: 60000 };
// Timers stand still while the machine sleeps, so the clock is read this often. It also keeps within the longest timer of browsers.
const checkInterval = 30000;

// Asks for the servers of an admission. Null without an answer.
async function renewed(client, admissions, isStored) {
    const iceServers = await client.iceServers().catch(() => null);
    if (!iceServers || !admissions.current) return null;
    admissions.current.iceServers = iceServers;
    if (isStored) admissions.save();
    return iceServers;
}

// The servers of an admission for a session that begins. Those of one that was kept meanwhile may have expired.
export async function validServers(client, admissions, isStored) {
    const { iceServers } = admissions.current, expiry = firstExpiry(iceServers);
    if (expiry === null || expiry * 1000 > Date.now()) return iceServers;
    return await renewed(client, admissions, isStored) || iceServers;
}

export class ICEServerRenewal {
    // `session` is at another host or relay at times: its `client`, `admissions` and `peer` are those of the place where it is.
    constructor(session) {
        this.session = session;
        this.renewals = 0;
        this.timer = this.dueAt = null;
    }

    // The session has a connection. Credentials for a viewer without media are short-lived.
    connected() {
        const { current } = this.session.admissions;
        if (current && expiresSoon(current.iceServers, Date.now() / 1000)) this.renew();
        else this.schedule();
    }

    stop() {
        clearTimeout(this.timer);
        this.timer = this.dueAt = null;
    }

    schedule() {
        const { current } = this.session.admissions, expiry = current && firstExpiry(current.iceServers);
        if (!expiry) return this.stop();
        const shortest = this.renewals < waits.quickRenewals ? waits.shortest : waits.later;
        this.renewAt(Date.now() + Math.max(shortest, (expiry * 1000 - Date.now()) / 2));
    }

    renewAt(time) {
        this.stop();
        if (this.session.isOver) return;
        this.dueAt = time;
        this.wait();
    }

    wait() {
        this.timer = setTimeout(() => {
            if (Date.now() >= this.dueAt) this.renew(); else this.wait();
        }, Math.min(Math.max(this.dueAt - Date.now(), 0), checkInterval));
    }

    async renew() {
        const { session } = this, { client, admissions } = session;
        // If no answer comes.
        this.renewAt(Date.now() + waits.afterFailure);
        const iceServers = await renewed(client, admissions, session.identity.isStored);
        // The session may have gone to another place, or have another connection here.
        if (!iceServers || session.isOver || admissions !== session.admissions) return;
        session.peer.useICEServers(iceServers);
        this.renewals++;
        this.schedule();
    }
}
