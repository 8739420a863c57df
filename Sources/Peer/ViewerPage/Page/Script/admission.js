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

// Whether credentials that expire (their user name begins with the end, in Unix seconds) do so within an hour.
export function expiresSoon(iceServers, now) {
    return Array.isArray(iceServers) && iceServers.some(server => {
        const end = /^(\d{1,10}):/.exec(server && server.username || '');
        return end !== null && Number(end[1]) < now + 3600;
    });
}
