import Matroska

/// Reads a file, and repairs it.
func fuzzRecording(_ bytes: UnsafeRawBufferPointer) {
    guard let file = try? MatroskaFile(ByteArraySource(Array(bytes))) else { return }
    let blocks = readBlocks(file)
    _ = file.isComplete
    guard let repair = file.repair() else { return }
    var repaired = Array(bytes)
    for patch in repair.damage { apply(patch, to: &repaired) }
    require(repair.end <= repaired.count, "a repair makes no file longer")
    repaired = Array(repaired[..<repair.end]) + repair.cues
    for patch in repair.header { apply(patch, to: &repaired) }
    guard let again = try? MatroskaFile(ByteArraySource(repaired)) else { fatalError("a repaired file cannot be read") }
    require(again.isComplete, "a repaired file is complete")
    // Damage of one byte costs the cluster behind it.
    require(readBlocks(again) == blocks || repair.lostBlocks > 0, "a repaired file has the blocks that were whole")
}

private func apply(_ patch: MatroskaPatch, to bytes: inout [UInt8]) {
    require(patch.offset >= 0 && patch.offset + patch.bytes.count <= bytes.count, "a patch lies in the file")
    bytes.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
}

/// - Returns: how many blocks there are.
private func readBlocks(_ file: MatroskaFile<ByteArraySource>) -> Int {
    var count = 0
    var position: Int?
    file.forEachPiece { piece in
        let range =
            switch piece {
            case .cluster(let element), .other(let element): element.start..<element.end
            case .damage(let range): range
            }
        require(range.count > 0 && range.upperBound <= file.source.length, "a piece lies in the file")
        require(position.map { $0 == range.lowerBound } ?? true, "pieces follow each other")
        position = range.upperBound
        if case .cluster(let element) = piece {
            let blocks = file.cluster(element)?.blocks ?? []
            for block in blocks { block.payload.withUnsafeBytes { touch($0) } }
            count += blocks.count
        }
        return true
    }
    return count
}
