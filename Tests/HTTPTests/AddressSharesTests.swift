import Testing

@testable import HTTP
@testable import Identifiers
@testable import Identity

@Suite struct AddressSharesTests {
    private func six(_ subnet: Int, site: Int = 0) -> AddressKey {
        PeerAddress("2001:db8:\(String(site, radix: 16)):\(String(subnet, radix: 16))::1").key
    }
    private func four(_ number: Int) -> AddressKey { PeerAddress("192.0.2.\(number)").key }

    @Test func aNetworkHasFourOrSixteenSharesOnceTheTableIsHalfFull() {
        var shares = AddressShares()
        // 0x00 to 0xFF are one /56.
        for subnet in 0..<8 { shares.add(six(subnet)) }
        #expect(shares.hasRoom(for: six(8), share: 2, of: 16), "half full")
        shares.add(four(1))
        #expect(!shares.hasRoom(for: six(8), share: 2, of: 16), "eight are the share of a /56")
        #expect(shares.hasRoom(for: six(0x100), share: 2, of: 16) && shares.hasRoom(for: four(1), share: 2, of: 16))
        for subnet in 1..<4 { for number in 0..<8 { shares.add(six(subnet << 8 | number)) } }
        #expect(!shares.hasRoom(for: six(0x1000), share: 2, of: 16), "32 are the share of a /48")
        #expect(shares.hasRoom(for: six(0, site: 1), share: 2, of: 16))
        shares.remove(six(0))
        #expect(shares.hasRoom(for: six(0x1000), share: 2, of: 16) && shares.total == 32)
    }

    @Test func whoHoldsMostMakesRoom() {
        let shares = AddressShares([four(1), four(1), four(1), four(2), four(2)])
        #expect(shares.displaceable(shares.addresses, by: four(3)) == [four(1)])
        #expect(shares.displaceable(shares.addresses, by: four(2)).isEmpty, "it would have as many")
        #expect(shares.displaceable([four(2)], by: four(3)) == [four(2)])
        #expect(shares.displaceable(shares.addresses, by: four(1)).isEmpty)
        #expect(shares.displaceable(shares.addresses, by: four(1), always: true) == [four(1)])
    }

    @Test func aSiteOfManyAddressesMakesRoomForOthersAndNotForItsOwn() {
        let site = (0..<40).map { six($0 << 8) }
        let shares = AddressShares(site + [four(1), four(1)])
        #expect(shares.displaceable(shares.addresses, by: four(2)) == Set(site), "40 of a /48 are more than two shares")
        #expect(shares.displaceable(shares.addresses, by: six(0x7700)).isEmpty)
        let busy = AddressShares(site + [six(0), six(0), four(1), four(1)])
        #expect(busy.displaceable(busy.addresses, by: six(0x7700)) == [six(0)], "within a site addresses are compared")
    }
}
