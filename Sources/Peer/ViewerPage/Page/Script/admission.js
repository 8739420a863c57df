// The host's admission: its token, its ICE servers, and the fingerprint (base64url) that the token is for. The tab's session
// storage keeps it, so that a reload asks nobody again.

export class AdmissionStore {
    constructor(broadcastID, storage) {
        this.key = 'admission ' + broadcastID;
        this.storage = storage;
        this.current = this.stored();
    }

    // Null if there is none.
    stored() {
        try {
            const admission = JSON.parse(this.storage.getItem(this.key));
            return admission && typeof admission.token === 'string' && typeof admission.fingerprint === 'string' ? admission : null;
        } catch { return null; }
    }

    save() { try { this.storage.setItem(this.key, JSON.stringify(this.current)); } catch { /* A reload asks again. */ } }

    // After this a reload asks again, but this page does not.
    forgetStored() { try { this.storage.removeItem(this.key); } catch { /* Nothing is stored. */ } }

    forget() {
        this.current = null;
        this.forgetStored();
    }
}

// When the first of the credentials expires (their user name begins with the time), in Unix seconds; null if none does.
export function firstExpiry(iceServers) {
    const ends = (Array.isArray(iceServers) ? iceServers : []).map(server => /^(\d{1,10}):/.exec(server && server.username || ''));
    return ends.reduce((first, end) => end && (first === null || Number(end[1]) < first) ? Number(end[1]) : first, null);
}

// Whether credentials expire within an hour.
export function expiresSoon(iceServers, now) {
    const expiry = firstExpiry(iceServers);
    return expiry !== null && expiry < now + 3600;
}
