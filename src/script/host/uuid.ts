import { newUuid, uuidText, uuidTime, type UuidVersion } from '../../base/uuid.ts'
import { type DigestEncoding, encoded } from './hash.ts'
import { type HostModule, type ModuleFunction, observing, pure } from './module.ts'

/** `aip.uuid`. The functions that create one observe: a resumed section gets the same UUIDs again. */
export const uuidModule: HostModule = {
  name: 'aip.uuid',
  functions: {
    /** `aip.uuid.new() → string` A random UUID (version 4) as text; alias of `new_v4`. */
    new: making(4),
    /**
     * `aip.uuid.new_v4() → string`
     * A random UUID (version 4) as text, for example `9b2f8c1e-3d64-4a0b-8f5e-7c2a1d9e6b30`.
     */
    new_v4: making(4),
    /**
     * `aip.uuid.new_v7() → string`
     * A UUID that starts with the time (version 7) as text. Those of one run sort in the order of their creation.
     */
    new_v7: making(7),
    /**
     * `aip.uuid.new_v4_b64() → string`
     * `aip.uuid.new_v7_b64() → string` The 16 bytes of a UUID of version 4 or 7 in Base64, padded: 24 characters.
     */
    new_v4_b64: making(4, 'b64'),
    new_v7_b64: making(7, 'b64'),
    /**
     * `aip.uuid.new_v4_b64u() → string`
     * `aip.uuid.new_v7_b64u() → string` The same in Base64 for URLs, not padded: 22 characters.
     */
    new_v4_b64u: making(4, 'b64u'),
    new_v7_b64u: making(7, 'b64u'),
    /**
     * `aip.uuid.new_v4_b58() → string`
     * `aip.uuid.new_v7_b58() → string` The same in Base58 with the alphabet of Bitcoin: 22 characters at most.
     */
    new_v4_b58: making(4, 'b58'),
    new_v7_b58: making(7, 'b58'),
    /**
     * `aip.uuid.to_time_epoch_ms(uuid?) → integer?` When a UUID of version 1, 6 or 7 was created, in milliseconds since
     * 1970. nil for nil, for other versions and for invalid UUIDs; anything but a string is an error.
     */
    to_time_epoch_ms: pure((call) => {
      const uuid = call.optionalText(0)
      return uuid === undefined ? undefined : uuidTime(uuid)
    }),
  },
}

function making(version: UuidVersion, encoding?: DigestEncoding): ModuleFunction {
  return observing(() => {
    const bytes = newUuid(version)
    return encoding === undefined ? uuidText(bytes) : encoded(bytes, encoding)
  })
}
