import FoundationEssentials
import Glibc

/// The name of a host or viewer whose user gives none.
package enum DefaultName {
    /// "ann@laptop": the login name, and the name of this machine without its domain.
    package static var text: String {
        var bytes = [CChar](repeating: 0, count: 256)
        gethostname(&bytes, bytes.count - 1)
        let machine = String(
            decoding: bytes.prefix { $0 != 0 && $0 != 0x2E }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let user = ProcessInfo.processInfo.userName
        return machine.isEmpty ? user : "\(user)@\(machine)"
    }
}
