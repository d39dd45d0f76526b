/** The fields that an apply refuses to take from others, as the Status names them. */

import { goQuote } from '../../../go/text.ts'
import { compareUtf8 } from '../../../codec/json/tree.ts'
import type { ManagerName, OwnedFields } from './managers.ts'
import { FieldSet } from './sets/field-set.ts'
import { type Path, pathText } from './sets/path-element.ts'

export interface Conflict {
  readonly manager: ManagerName
  readonly path: Path
}

/** Thrown by an apply that is not forced. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super(conflictsText(conflicts))
    this.conflicts = conflicts
  }

  /** The fields in question. */
  get fields(): FieldSet {
    return FieldSet.of(...this.conflicts.map(({ path }) => path))
  }

  get causes(): { readonly message: string; readonly field: string }[] {
    return this.conflicts.map(({ manager, path }) => ({
      message: `conflict with ${managerText(manager)}`,
      field: pathText(path),
    }))
  }
}

/** One for each field, in the order of the managers' names. */
export function conflictsOf(taken: Iterable<OwnedFields>): Conflict[] {
  return [...taken]
    .sort((a, b) => compareUtf8(a.manager.name, b.manager.name))
    .flatMap(({ manager, fields }) => fields.paths().map(path => ({ manager, path })))
}

function conflictsText(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (first !== undefined && conflicts.length === 1) {
    const { manager, path } = first
    return `Apply failed with 1 conflict: conflict with ${managerText(manager)}: ${pathText(path)}`
  }
  const byManager = new Map<string, string[]>()
  for (const { manager, path } of conflicts) {
    const name = managerText(manager)
    const paths = byManager.get(name) ?? []
    paths.push(`- ${pathText(path)}`)
    byManager.set(name, paths)
  }
  const lines = [...byManager].flatMap(([name, paths]) => [`conflicts with ${name}:`, ...paths])
  return `Apply failed with ${String(conflicts.length)} conflicts: ${lines.join('\n')}`
}

function managerText({ name, operation, subresource, apiVersion }: ManagerName): string {
  const through = subresource === '' ? '' : ` with subresource ${goQuote(subresource)}`
  const using = operation === 'Update' ? ` using ${apiVersion}` : ''
  return goQuote(name) + through + using
}
