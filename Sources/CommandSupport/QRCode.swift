/// A QR code (ISO/IEC 18004) of a text: byte mode, error correction M, versions 1 to 10. A value, without I/O.
package struct QRCode: Sendable {
    /// The number of modules of a side, without the quiet zone.
    package let size: Int
    /// Row by row; true is dark.
    private var modules: [Bool]
    private var isFunction: [Bool]

    /// For versions 1 to 10: error correction codewords in each block, and blocks.
    private static let correction = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26]
    private static let blocks = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5]

    /// - Returns: nil if the text is too long: 213 bytes at most.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard
            let version = (1...10).first(where: { version in
                let bits = 4 + (version < 10 ? 8 : 16) + 8 * bytes.count
                return bits <= 8 * Self.dataCodewords(version)
            })
        else { return nil }
        size = 17 + 4 * version
        modules = Array(repeating: false, count: size * size)
        isFunction = modules
        drawFunctionPatterns(version)
        draw(Self.codewords(of: bytes, version))
        let best = (0..<8).min { penalty(of: $0) < penalty(of: $1) } ?? 0
        apply(mask: best)
        drawFormat(mask: best)
    }

    package subscript(x: Int, y: Int) -> Bool {
        get { modules[y * size + x] }
        set { modules[y * size + x] = newValue }
    }

    /// For a terminal: two modules a character, with a quiet zone of two modules, dark on light.
    package var lines: [String] {
        func isDark(_ x: Int, _ y: Int) -> Bool { x >= 0 && y >= 0 && x < size && y < size && self[x, y] }
        return stride(from: -2, to: size + 2, by: 2).map { y in
            let text = (-2..<size + 2).map { x -> Character in
                switch (isDark(x, y), isDark(x, y + 1)) {
                case (true, true): "\u{2588}"
                case (true, false): "\u{2580}"
                case (false, true): "\u{2584}"
                case (false, false): " "
                }
            }
            return String(text)
        }
    }

    // MARK: Codewords

    private static func rawCodewords(_ version: Int) -> Int {
        var modules = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            modules -= (25 * alignments - 10) * alignments - 55
            if version >= 7 { modules -= 36 }
        }
        return modules / 8
    }

    private static func dataCodewords(_ version: Int) -> Int {
        rawCodewords(version) - correction[version - 1] * blocks[version - 1]
    }

    private static func codewords(of bytes: [UInt8], _ version: Int) -> [UInt8] {
        let capacity = dataCodewords(version)
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        append(4, 4)
        append(bytes.count, version < 10 ? 8 : 16)
        for byte in bytes { append(Int(byte), 8) }
        append(0, min(4, 8 * capacity - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var data = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        for index in 0..<(capacity - data.count) { data.append(index % 2 == 0 ? 0xEC : 0x11) }
        return interleaved(data, version)
    }

    private static func interleaved(_ data: [UInt8], _ version: Int) -> [UInt8] {
        let (count, length) = (blocks[version - 1], correction[version - 1])
        let raw = rawCodewords(version)
        let shortCount = count - raw % count
        let shortLength = raw / count - length
        let divisor = Self.divisor(length)
        var all: [(data: [UInt8], correction: [UInt8])] = []
        var start = 0
        for index in 0..<count {
            let end = start + shortLength + (index < shortCount ? 0 : 1)
            let block = Array(data[start..<end])
            all.append((block, remainder(block, divisor)))
            start = end
        }
        var result: [UInt8] = []
        for index in 0...shortLength {
            for block in all where index < block.data.count { result.append(block.data[index]) }
        }
        for index in 0..<length { for block in all { result.append(block.correction[index]) } }
        return result
    }

    // MARK: Reed-Solomon, in GF(2^8) with the polynomial 0x11D

    private static func multiply(_ a: UInt8, _ b: UInt8) -> UInt8 {
        var result = 0
        for bit in (0..<8).reversed() {
            result = result << 1 ^ (result >> 7) * 0x11D
            result ^= Int(b >> bit & 1) * Int(a)
        }
        return UInt8(truncatingIfNeeded: result)
    }

    private static func divisor(_ degree: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: degree)
        result[degree - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                result[index] = multiply(result[index], root)
                if index + 1 < degree { result[index] ^= result[index + 1] }
            }
            root = multiply(root, 2)
        }
        return result
    }

    private static func remainder(_ data: [UInt8], _ divisor: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: divisor.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for index in result.indices { result[index] ^= multiply(divisor[index], factor) }
        }
        return result
    }

    // MARK: Modules

    private mutating func setFunction(_ x: Int, _ y: Int, _ isDark: Bool) {
        self[x, y] = isDark
        isFunction[y * size + x] = true
    }

    private mutating func drawFunctionPatterns(_ version: Int) {
        for index in 0..<size {
            setFunction(6, index, index % 2 == 0)
            setFunction(index, 6, index % 2 == 0)
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawFinder(x, y) }
        let places = Self.alignments(version, size)
        let last = places.count - 1
        for (i, x) in places.enumerated() {
            for (j, y) in places.enumerated()
            where !((i == 0 && j == 0) || (i == 0 && j == last) || (i == last && j == 0)) {
                for dy in -2...2 { for dx in -2...2 { setFunction(x + dx, y + dy, max(abs(dx), abs(dy)) != 1) } }
            }
        }
        drawFormat(mask: 0)
        drawVersion(version)
    }

    private static func alignments(_ version: Int, _ size: Int) -> [Int] {
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        let step = (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
    }

    private mutating func drawFinder(_ x: Int, _ y: Int) {
        for dy in -4...4 {
            for dx in -4...4 {
                let distance = max(abs(dx), abs(dy))
                let (column, row) = (x + dx, y + dy)
                guard column >= 0, row >= 0, column < size, row < size else { continue }
                setFunction(column, row, distance != 2 && distance != 4)
            }
        }
    }

    private mutating func drawFormat(mask: Int) {
        // Error correction M is 0.
        var remainder = mask
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (mask << 10 | remainder) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { setFunction(8, index, bit(index)) }
        setFunction(8, 7, bit(6))
        setFunction(8, 8, bit(7))
        setFunction(7, 8, bit(8))
        for index in 9..<15 { setFunction(14 - index, 8, bit(index)) }
        for index in 0..<8 { setFunction(size - 1 - index, 8, bit(index)) }
        for index in 8..<15 { setFunction(8, size - 15 + index, bit(index)) }
        setFunction(8, size - 8, true)
    }

    private mutating func drawVersion(_ version: Int) {
        guard version >= 7 else { return }
        var remainder = version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
        let bits = version << 12 | remainder
        for index in 0..<18 {
            let isDark = bits >> index & 1 == 1
            setFunction(size - 11 + index % 3, index / 3, isDark)
            setFunction(index / 3, size - 11 + index % 3, isDark)
        }
    }

    private mutating func draw(_ codewords: [UInt8]) {
        var next = 0
        var right = size - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for vertical in 0..<size {
                for column in [right, right - 1] {
                    let isUpward = (right + 1) & 2 == 0
                    let row = isUpward ? size - 1 - vertical : vertical
                    guard !isFunction[row * size + column], next < codewords.count * 8 else { continue }
                    self[column, row] = codewords[next / 8] >> (7 - next % 8) & 1 == 1
                    next += 1
                }
            }
            right -= 2
        }
    }

    // MARK: Masks

    private mutating func apply(mask: Int) {
        for y in 0..<size {
            for x in 0..<size where !isFunction[y * size + x] {
                let flips =
                    switch mask {
                    case 0: (x + y) % 2 == 0
                    case 1: y % 2 == 0
                    case 2: x % 3 == 0
                    case 3: (x + y) % 3 == 0
                    case 4: (x / 3 + y / 2) % 2 == 0
                    case 5: x * y % 2 + x * y % 3 == 0
                    case 6: (x * y % 2 + x * y % 3) % 2 == 0
                    default: ((x + y) % 2 + x * y % 3) % 2 == 0
                    }
                if flips { self[x, y].toggle() }
            }
        }
    }

    /// How hard the code is to read with a mask.
    private func penalty(of mask: Int) -> Int {
        var code = self
        code.apply(mask: mask)
        code.drawFormat(mask: mask)
        var result = 0
        for index in 0..<size {
            result += Self.runPenalty((0..<size).map { code[$0, index] })
            result += Self.runPenalty((0..<size).map { code[index, $0] })
        }
        for y in 0..<size - 1 {
            for x in 0..<size - 1
            where code[x, y] == code[x + 1, y] && code[x, y] == code[x, y + 1] && code[x, y] == code[x + 1, y + 1] {
                result += 3
            }
        }
        let dark = code.modules.count { $0 }
        return result + abs(dark * 20 - size * size * 10) / (size * size) * 10
    }

    private static let finderLike: [[Bool]] = {
        let core = [true, false, true, true, true, false, true]
        let light = [Bool](repeating: false, count: 4)
        return [core + light, light + core]
    }()

    private static func runPenalty(_ line: [Bool]) -> Int {
        var result = 0
        var run = 0
        for (index, module) in line.enumerated() {
            run = index > 0 && module == line[index - 1] ? run + 1 : 1
            if run == 5 { result += 3 } else if run > 5 { result += 1 }
        }
        for start in 0...line.count - 11 where finderLike.contains(Array(line[start..<start + 11])) { result += 40 }
        return result
    }
}
