/** Which test files there are, and which of them start other processes (an etcd, kubectl, the
 *  program itself, a bench): those whose modules, with all that they import, reach
 *  node:child_process or node:worker_threads. The others are quick, and many of them can share a
 *  process. */

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const processModules: ReadonlySet<string> = new Set(['node:child_process', 'node:worker_threads'])

/** All test files as they are built, such as dist/test/base/keys.test.js, in the order of their
 *  names. Only those that have a source: dist may hold files of sources that are gone. */
export function allTestFiles(): string[] {
  return readdirSync('test', { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map(entry => join('dist', entry.parentPath, entry.name.replace(/\.ts$/, '.js')))
    .sort()
}

/** Says of each file whether it starts other processes. */
export class ProcessUse {
  readonly #importsOf = new Map<string, readonly string[]>()

  startsProcesses(file: string): boolean {
    const seen = new Set([file])
    for (const module of seen) {
      if (processModules.has(module)) return true
      if (!module.startsWith('dist/')) continue
      for (const imported of this.#imports(module)) seen.add(imported)
    }
    return false
  }

  #imports(file: string): readonly string[] {
    let imports = this.#importsOf.get(file)
    if (imports === undefined) {
      imports = importsIn(readFileSync(file, 'utf8'), file)
      this.#importsOf.set(file, imports)
    }
    return imports
  }
}

/** The imports of a built module: files of dist as paths, packages by their names. */
function importsIn(text: string, file: string): string[] {
  const specifiers = text.matchAll(
    /(?:^|\n)(?:import|export)\b(?:[^'"]*?\sfrom)?\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]/g,
  )
  return [...specifiers].map(([, from, dynamic]) => {
    const specifier = from ?? dynamic ?? ''
    return specifier.startsWith('.') ? normalize(join(dirname(file), specifier)) : specifier
  })
}
