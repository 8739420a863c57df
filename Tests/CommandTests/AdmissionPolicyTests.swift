import Admission
import CommandSupport
import Identifiers
import Identity
import LinuxRuntime
import TestSupport
import Testing

/// Whom `--accept` asks about.
@Suite struct AdmissionPolicyTests {
    private let folder: TemporaryFolder
    private let known: KnownViewers
    private let asked = Monitor<[Prompt.Question]>([])
    private let answer = Monitor<Prompt.Answer?>(.yes)

    init() throws {
        folder = try TemporaryFolder()
        known = KnownViewers(directory: folder.path)
    }

    private func policy(_ choice: AcceptChoice, hasPageOfRelay: Bool, canAsk: Bool = true) -> AdmissionPolicy {
        let (asked, answer) = (asked, answer)
        let ask: AskElsewhere = { question in
            asked.change { $0.append(question) }
            return answer.with { $0 }
        }
        return AdmissionPolicy(
            choice, known: known, prompt: Prompt(), hasPageOfRelay: hasPageOfRelay, askElsewhere: canAsk ? ask : nil)
    }

    private func knock(_ number: UInt8, isBrowser: Bool) throws -> Knock {
        let hash = [UInt8](repeating: number, count: 32)
        let identity = ViewerIdentity(fingerprint: hash, key: isBrowser ? Self.point : nil)
        var knock = Knock(
            told: .random(), name: "Ann", kind: "Firefox", address: "192.0.2.1", identity: try #require(identity),
            records: false,
            words: ShortAuthenticationString(viewer: hash, host: hash, nonce: Array(repeating: 0, count: 16)))
        knock.isTold = false
        return knock
    }

    /// The base point of P-256 (SEC 2 section 2.4.2).
    private static let point: [UInt8] =
        [4] + hexadecimal("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
        + hexadecimal("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")

    private static func hexadecimal(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { start in
            let first = text.index(text.startIndex, offsetBy: start)
            return UInt8(text[first...text.index(after: first)], radix: 16)
        }
    }

    /// A relay's page could knock by itself, with the key of a browser that has visited it.
    @Test func aKnownBrowserWithTheRelaysPageIsAskedAboutOnceInABroadcast() async throws {
        let browser = try knock(1, isBrowser: true)
        answer.with { $0 = .always }
        let first = policy(.ask, hasPageOfRelay: true)
        #expect(await first.decide(browser) == .accepted)
        #expect(asked.with { $0.first?.details.last?.contains("once in each broadcast") } == true)
        #expect(await first.decide(browser) == .remembered)
        let second = policy(.ask, hasPageOfRelay: true)
        #expect(await second.decide(browser) == .accepted)
        #expect(await second.decide(browser) == .remembered)
        #expect(asked.with { $0.count } == 2)
        // At the host's own address its page is its own.
        #expect(await policy(.ask, hasPageOfRelay: false).decide(browser) == .remembered)
        // Where nobody can be asked, it is not let in, and told why.
        let unattended = policy(.known, hasPageOfRelay: true, canAsk: false)
        guard case .refused(let reason?) = await unattended.decide(browser) else {
            Issue.record("it was let in")
            return
        }
        #expect(reason.contains("use share join"))
        #expect(asked.with { $0.count } == 2)
    }

    @Test func aProgramIsKnownWhereverItKnocks() async throws {
        let program = try knock(2, isBrowser: false)
        answer.with { $0 = .always }
        #expect(await policy(.ask, hasPageOfRelay: true).decide(program) == .accepted)
        #expect(await policy(.ask, hasPageOfRelay: true).decide(program) == .remembered)
        #expect(await policy(.known, hasPageOfRelay: true, canAsk: false).decide(program) == .remembered)
        #expect(asked.with { $0.count } == 1)
    }

    @Test func aBrowserThatWasRefusedIsAskedAboutAgain() async throws {
        let browser = try knock(3, isBrowser: true)
        let policy = policy(.ask, hasPageOfRelay: true)
        answer.with { $0 = .no }
        for _ in 0..<2 { #expect(await policy.decide(browser) == .refused("the host said no")) }
        #expect(asked.with { $0.count } == 2)
    }
}
