import MediaCore
import Testing

@testable import Admission
@testable import Identifiers
@testable import Identity

let conference = ServiceID("com.example.conference")
let budget = ApplicationInfo(id: "com.example.budget", name: "Budget")

func fingerprint(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }
func nonce(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: PairingTranscript.nonceLength) }

/// An identifier that is the same for the same number.
func identifier(_ kind: Character, _ number: Int) -> RandomName {
    let digits = String(number)
    return RandomName(String(kind) + String(repeating: "0", count: max(0, 21 - digits.count)) + digits) ?? .random()
}

func describe(_ fields: [SetupField] = [], terms: String? = nil) throws -> ServiceDescription {
    try ServiceDescription(id: #require(conference), name: "Conference", fields: fields, terms: terms)
}
