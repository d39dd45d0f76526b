/** Loads modules once more for each mutant: the mutated one, and those that import it, have its
 *  number in their addresses. All others are those that are loaded already. Runs in the thread of
 *  Node's module hooks. */

import { readFileSync } from 'node:fs'
import type { LoadHook, ResolveHook } from 'node:module'

export interface Mutant {
  /** The address of the module. */
  readonly module: string
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** The addresses of the modules that are to be loaded once more. */
  readonly again: readonly string[]
}

const standIn = new URL('./stand-in.js', import.meta.url).href
const mutants = new Map<string, Mutant & { readonly loaded: ReadonlySet<string> }>()

/** The file that has a mutant, by its number. */
export function fileOf(id: string): string {
  return `.cache/mutants/live/${id}.json`
}

function mutantOf(url: string | undefined): readonly [id: string, mutant: ReturnType<typeof read>] {
  const id = /\?mutant=(\d+)$/.exec(url ?? '')?.[1]
  return id === undefined ? ['', undefined] : [id, read(id)]
}

function read(id: string): (Mutant & { readonly loaded: ReadonlySet<string> }) | undefined {
  let mutant = mutants.get(id)
  if (mutant === undefined) {
    const found = JSON.parse(readFileSync(fileOf(id), 'utf8')) as Mutant
    mutants.clear()
    mutants.set(id, (mutant = { ...found, loaded: new Set(found.again) }))
  }
  return mutant
}

export const resolve: ResolveHook = async (specifier, context, next) => {
  if (specifier === 'tap') return { url: standIn, format: 'module', shortCircuit: true }
  const resolved = await next(specifier, context)
  const [id, mutant] = mutantOf(context.parentURL)
  if (mutant?.loaded.has(resolved.url) !== true) return resolved
  return { ...resolved, url: `${resolved.url}?mutant=${id}` }
}

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context)
  const [id, mutant] = mutantOf(url)
  if (mutant === undefined || url !== `${mutant.module}?mutant=${id}`) return loaded
  const source = Buffer.from(loaded.source as Uint8Array).toString()
  const { start, end, replacement } = mutant
  return { ...loaded, source: source.slice(0, start) + replacement + source.slice(end) }
}
