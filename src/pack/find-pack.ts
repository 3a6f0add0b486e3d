import { join } from 'node:path'
import { compareBytes } from '../base/byte-order.ts'
import { BatonError } from '../base/error.ts'
import type { ReadLog } from '../base/reads.ts'
import { isSourceFolder, sourceFolders } from '../base/source-reader.ts'
import type { PackRef } from './pack-ref.ts'
import { core, isCore } from './reserved.ts'

/** Where packs are looked for. */
export interface PackPlaces {
  /** Folders that hold packs as `<namespace>/<name>`, best first (DESIGN 3). They need not exist. */
  readonly packRoots: readonly string[]
  /** Folder of the agents that come with the product: the pack `baton@core`, which no folder of packs can hold. */
  readonly builtInDir?: string
  /** Asked for what is stored, and told what is found. */
  readonly reads?: ReadLog | undefined
}

/** A pack that was found. */
export interface Pack {
  readonly namespace: string
  readonly name: string
  /** `namespace@name`. */
  readonly identity: string
  /** Absolute; a link is followed, but not replaced by where it leads. */
  readonly dir: string
}

/**
 * The folder a reference means: the first hit in the order of the roots (spec/aipack.md 3.3, vector 12). Undefined when
 * there is none.
 * @throws BatonError AGENT_AMBIGUOUS when a bare `@name` fits packs of several namespaces
 */
export function findPack({ namespace, name }: PackRef, places: PackPlaces): Pack | undefined {
  if (namespace !== undefined) return findIn(namespace, name, places)
  const fitting = listPacks(places).filter((pack) => pack.name === name)
  if (fitting.length < 2) return fitting[0]
  const names = fitting.map(({ identity }) => identity)
  throw new BatonError('AGENT_AMBIGUOUS', `"@${name}" is ambiguous: it may be ${names.join(' or ')}`, {
    hint: `Write ${names[0]}.`,
  })
}

function findIn(namespace: string, name: string, { packRoots, builtInDir, reads }: PackPlaces): Pack | undefined {
  if (isCore({ namespace, name })) {
    return builtInDir === undefined ? undefined : packOf(namespace, name, builtInDir)
  }
  const dirs = packRoots.map((root) => join(root, namespace, name))
  const dir = dirs.find((path) => isSourceFolder(path, reads))
  return dir === undefined ? undefined : packOf(namespace, name, dir)
}

/** Every pack that can be named, sorted by identity; those that another one stands in front of are left out. */
export function listPacks({ packRoots, builtInDir, reads }: PackPlaces): readonly Pack[] {
  const found = new Map<string, Pack>()
  for (const root of packRoots) {
    for (const namespace of sourceFolders(root, reads)) {
      for (const name of sourceFolders(join(root, namespace), reads)) {
        const pack = packOf(namespace, name, join(root, namespace, name))
        if (!isCore(pack) && !found.has(pack.identity)) found.set(pack.identity, pack)
      }
    }
  }
  if (builtInDir !== undefined) {
    const own = packOf(core.namespace, core.name, builtInDir)
    found.set(own.identity, own)
  }
  return [...found.values()].toSorted((left, right) => compareBytes(left.identity, right.identity))
}

function packOf(namespace: string, name: string, dir: string): Pack {
  return { namespace, name, identity: `${namespace}@${name}`, dir }
}
