import CommandSupport
import HTTP
import LinuxRuntime

/// The two files of `--tls`: a certificate chain and its key, which are read again when they change.
struct TLSFiles: Sendable {
    let chain: String
    let key: String

    /// Certificates have a few KiB.
    private static let sizeLimit = 1 << 20
    static let interval = Duration.seconds(5)

    /// What the files hold.
    struct Content: Equatable, Sendable {
        fileprivate var chain: [UInt8]
        fileprivate var key: [UInt8]
    }

    func read() throws(CommandError) -> Content {
        Content(chain: try Self.bytes(chain), key: try Self.bytes(key))
    }

    func certificate(_ content: Content) throws(CommandError) -> ServerCertificate {
        do throws(ServerCertificateError) {
            return try ServerCertificate(chain: content.chain, key: content.key)
        } catch {
            throw CommandError(
                sentence: "--tls: \(error.isOfKey ? key : chain) \(error)",
                remedy: "Give the chain and the key in PEM, as from Let's Encrypt: --tls fullchain.pem privkey.pem",
                status: .usage)
        }
    }

    private static func bytes(_ file: String) throws(CommandError) -> [UInt8] {
        guard let handle = FileDescriptor(reading: file), let bytes = handle.read(upTo: sizeLimit) else {
            throw CommandError(
                sentence: "--tls: \(file) cannot be read",
                remedy: "Check its name, and whether this user may read it: ls -l \(file)", status: .usage)
        }
        return bytes
    }

    /// Looks for another certificate every 5 s, until the task is cancelled. A flaw is reported once, and what was read
    /// before stays in use.
    func watch(
        from content: Content, renewed: @Sendable (ServerCertificate) -> Void, failed: @Sendable (String) -> Void
    ) async {
        var last = content
        // While the two files are written, one is new and the other is not: such a flaw is reported the second time.
        var reported: String?
        var suspected: String?
        while (try? await Task.sleep(for: Self.interval)) != nil {
            do throws(CommandError) {
                let content = try read()
                if content == last, suspected == nil { continue }
                let certificate = try certificate(content)
                if content != last { renewed(certificate) }
                last = content
                (suspected, reported) = (nil, nil)
            } catch {
                if suspected == error.sentence, reported != error.sentence {
                    failed(error.sentence)
                    reported = error.sentence
                }
                suspected = error.sentence
            }
        }
    }
}

/// The certificate that a relay presents at its start: the files of `--tls` as they were read.
struct PresentedFiles {
    let files: TLSFiles
    let content: TLSFiles.Content
    let certificate: ServerCertificate

    /// - Parameter options: the values of `--tls`; nil is returned unless they are two.
    init?(_ options: [String]) throws(CommandError) {
        guard options.count == 2 else { return nil }
        files = TLSFiles(chain: options[0], key: options[1])
        SecretFile.warnIfExposed(files.key, "--tls")
        content = try files.read()
        certificate = try files.certificate(content)
    }
}
