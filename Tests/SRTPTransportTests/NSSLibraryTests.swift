import Glibc
import MediaCore
import Testing

@testable import SRTPTransport

/// Debian's libsrtp2 encrypts with NSS.
@Suite struct NSSLibraryTests {
    @Test func itsModulesStayLoadedWithoutASession() throws {
        SRTPSession.initializeLibrary()
        #expect(NSSLibrary.keepOpen())
        let keys = [UInt8](repeating: 1, count: 30)
        _ = try SRTPSession(keys: SRTPKeys(profile: .aes128CMSHA1, local: keys, remote: keys))
        let module = dlopen("libsoftokn3.so", RTLD_NOW | RTLD_NOLOAD)
        #expect(module != nil)
        if let module { dlclose(module) }
    }
}
