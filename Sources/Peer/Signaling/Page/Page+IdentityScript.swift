extension ViewerPage {
    /// The browser's certificate, kept over visits, and the admission, kept over a reload.
    static let identityScript = ##"""
        // --- who this browser is: one certificate for this origin, which is the host's address and port, and a key that signs
        // knocks, as a page cannot sign with its certificate's key

        const day = 86400000, lifetime = 365 * day;
        let own = null;

        function openStore() {
            return new Promise((done, fail) => {
                const request = indexedDB.open('share', 1);
                request.onupgradeneeded = () => request.result.createObjectStore('identity');
                request.onsuccess = () => done(request.result);
                request.onerror = request.onblocked = () => fail(request.error);
            });
        }

        async function makeIdentity() {
            const kind = { name: 'ECDSA', namedCurve: 'P-256' };
            const [certificate, { privateKey, publicKey }] = await Promise.all([
                RTCPeerConnection.generateCertificate({ ...kind, expires: lifetime }),
                crypto.subtle.generateKey(kind, false, ['sign']),
            ]);
            return { certificate, keys: { privateKey, publicKey } };
        }
        const isUsable = identity => Boolean(identity && identity.certificate instanceof RTCCertificate
            && identity.keys && identity.keys.privateKey instanceof CryptoKey && identity.certificate.expires > Date.now() + day);

        // What is kept in `store`, or else a new one, which is then kept there.
        async function keptIdentity(store) {
            const look = all => new Promise((done, fail) => {
                const request = all.get('own');
                request.onsuccess = () => done(request.result);
                request.onerror = () => fail(request.error);
            });
            const kept = await look(store.transaction('identity').objectStore('identity'));
            if (isUsable(kept)) return { ...kept, isKept: true };
            const made = await makeIdentity();
            return new Promise((done, fail) => {
                const transaction = store.transaction('identity', 'readwrite'), all = transaction.objectStore('identity');
                let identity = made;
                // Another tab may have been faster.
                const request = all.get('own');
                request.onsuccess = () => { if (isUsable(request.result)) identity = request.result; else all.put(made, 'own'); };
                transaction.oncomplete = () => done({ ...identity, isKept: true });
                transaction.onerror = transaction.onabort = () => fail(transaction.error);
            });
        }

        // Of this page alone where a browser keeps nothing, as in private windows.
        async function ownIdentity() {
            if (isUsable(own)) return own;
            try {
                const limit = sleep(3000).then(() => { throw new Error('slow'); });
                own = await Promise.race([limit, openStore().then(store => keptIdentity(store).finally(() => store.close()))]);
            } catch { own = { ...await makeIdentity(), isKept: false }; }
            return own;
        }
        """##

    static let admissionScript = ##"""
        // --- the admission: the token, for the certificate of `mine`; in this tab, so that a reload asks nobody again

        let admission = null;

        const admissionKey = () => 'admission ' + link.id;
        function recall() {
            try {
                const kept = JSON.parse(sessionStorage.getItem(admissionKey()));
                return kept && typeof kept.token === 'string' && typeof kept.mine === 'string' ? kept : null;
            } catch { return null; }
        }
        function remember(answer, mine) {
            admission = { token: answer.token, iceServers: answer.iceServers, mine: encode(mine) };
            if (own.isKept) keepOverReload();
        }
        function keepOverReload() { try { sessionStorage.setItem(admissionKey(), JSON.stringify(admission)); } catch {} }
        function forgetOverReload() { try { sessionStorage.removeItem(admissionKey()); } catch {} }
        function forget() {
            admission = null;
            forgetOverReload();
        }
        """##
}
