extension ViewerPage {
    /// Reads the link, makes proofs of its secret, and compares certificates.
    static let linkScript = ##"""
        // --- the link: base64url of 0x01 | secret (16 bytes) | SHA-256 of the host's certificate (32 bytes)

        function readLink() {
            const id = location.pathname.split('/')[1].toUpperCase().replace(/O/g, '0').replace(/[IL]/g, '1');
            const fragment = location.hash.slice(1);
            const again = 'Ask the host for the link, or copy it once more.';
            if (!fragment) throw new Stop('error', 'This link lacks its last part, the one after #.', again);
            if (/[^A-Za-z0-9_-]/.test(fragment)) throw new Stop('error', 'This link is mistyped: it has a character that no link has.', again);
            if (fragment.length < 66) {
                const missing = 66 - fragment.length;
                throw new Stop('error', `This link is cut off: ${missing} character${missing === 1 ? '' : 's'} missing at its end.`, again);
            }
            if (fragment.length > 66) throw new Stop('error', 'This link is mistyped: it is too long.', again);
            const bytes = decode(fragment + '==');
            if (bytes.length !== 49 || encode(bytes) !== fragment) throw new Stop('error', 'This link is mistyped near its end.', again);
            if (bytes[0] !== 1) throw new Stop('error', 'This link is mistyped, or made by a newer version of share.', again);
            return { id, secret: bytes.slice(1, 17), host: bytes.slice(17) };
        }

        async function proof(info, ...message) {
            const material = await crypto.subtle.importKey('raw', link.secret, 'HKDF', false, ['deriveKey']);
            const key = await crypto.subtle.deriveKey(
                { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text.encode(info) }, material,
                { name: 'HMAC', hash: 'SHA-256', length: 256 }, false, ['sign']);
            return new Uint8Array(await crypto.subtle.sign('HMAC', key, join(text.encode(link.id), ...message)));
        }

        // The one SHA-256 fingerprint that a description names; null if there is none, one that cannot be read, or two that
        // differ. Those of other hashes may stand beside it (RFC 8122, section 5).
        function fingerprint(sdp) {
            let found = null;
            for (const line of sdp.split(/[\r\n]+/)) {
                if (!/^a=fingerprint:\s*sha-256\s/i.test(line)) continue;
                const match = /^a=fingerprint:sha-256 ((?:[0-9a-f]{2}:){31}[0-9a-f]{2})\s*$/i.exec(line);
                if (!match) return null;
                const bytes = Uint8Array.from(match[1].split(':'), pair => parseInt(pair, 16));
                if (found && !equal(found, bytes)) return null;
                found = bytes;
            }
            return found;
        }

        // Without the fingerprints that neither link nor proof covers: the browser might hold the host to one of them instead.
        function onlySHA256(sdp) {
            return sdp.split(/[\r\n]+/).filter(line => !/^a=fingerprint/i.test(line) || /^a=fingerprint:sha-256 /i.test(line)).join('\r\n');
        }

        async function fourWords(mine, nonce) {
            const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', join(text.encode('share v1 words'), mine, link.host, nonce)));
            return [0, 1, 2, 3].map(i => words[(digest[2 * i] << 8 | digest[2 * i + 1]) % 256]).join(' ');
        }

        // Signs a host's challenge: 64 bytes r | s.
        async function signature(keys, mine, nonce) {
            const message = join(text.encode('share v1 knock'), text.encode(link.id), link.host, mine, nonce);
            return new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, keys.privateKey, message));
        }
        """##
}
