import Foundation
import TestSupport
import Testing

/// `Scripts/relay/Containerfile`, as far as it can be checked without a container.
@Suite struct ContainerfileTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardized.path

    /// The packages that the last stage installs.
    private static func packages() throws -> Set<String> {
        let text = try String(contentsOfFile: root + "/Scripts/relay/Containerfile", encoding: .utf8)
        let stage = try #require(text.components(separatedBy: "\nFROM ").last)
        let lists = stage.components(separatedBy: "apt-get install").dropFirst()
            .compactMap { $0.components(separatedBy: "&&").first?.split(separator: ";").first }
        let words = lists.flatMap { $0.split { $0 == " " || $0 == "\\" || $0 == "\n" } }.map(String.init)
        return Set(words.filter { !$0.hasPrefix("-") })
    }

    /// Debian 12 has them, as this machine does.
    @Test func itsPackagesExist() throws {
        let packages = try Self.packages()
        #expect(packages.count > 5)
        let text = try Program("apt-cache", ["show", "--no-all-versions"] + packages.sorted()).finish()
        for package in packages { #expect(text.contains("Package: \(package)\n"), "\(package)") }
    }

    /// What the program is linked with, and libnice, which it loads, comes from a package of the list or with Swift; so
    /// does nothing else.
    @Test func itsPackagesHaveTheLibrariesOfTheProgram() throws {
        let linked = try Program("readelf", ["-d", Program.built("share-relay")]).finish().split(separator: "\n")
            .filter { $0.contains("(NEEDED)") }.compactMap { $0.split(separator: "[").last?.dropLast() }
        #expect(linked.count > 10)
        let needed = linked + ["libnice.so.10"]
        var owners: Set<String> = []
        // Each line is "package:architecture: path".
        let search = try Program("dpkg", ["-S"] + needed.map { "*/\($0)" })
        _ = search.exitCode(seconds: 60)
        let lines = search.text.output.split(separator: "\n")
        for library in needed {
            let found = Set(lines.filter { $0.hasSuffix("/\(library)") }.compactMap { $0.split(separator: ":").first })
            // Those of Swift are of no package.
            guard !found.isEmpty else {
                let isOfSwift = ["swift", "dispatch", "Foundation", "BlocksRuntime", "XCTest", "Testing"].contains {
                    library.contains($0)
                }
                #expect(isOfSwift, "\(library) is of no package")
                continue
            }
            owners.formUnion(found.map(String.init))
            #expect(!found.isDisjoint(with: try Self.packages().union(["libc6"]).map { Substring($0) }), "\(library)")
        }
        #expect(try Self.packages().subtracting(owners) == ["ca-certificates", "curl"])
    }
}
