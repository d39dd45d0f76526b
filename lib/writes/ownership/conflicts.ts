/** The fields that an apply refuses to take from others, as the Status names them. */

import { compareUtf8, goQuote } from '@watchglass/go'
import type { ManagerName, OwnedFields } from './managers.ts'
import { errorsMaxLength, tooLarge } from '../refusals.ts'
import { type ElementPath, pathText } from './sets/path-element.ts'

export interface Conflict {
  readonly manager: ManagerName
  readonly path: ElementPath
  /** The path, as messages show it. */
  readonly text: string
}

/** Thrown by an apply that is not forced. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super(conflictsText(conflicts))
    this.conflicts = conflicts
  }

  get causes(): { readonly message: string; readonly field: string }[] {
    return this.conflicts.map(({ manager, text }) => ({
      message: `conflict with ${managerText(manager)}`,
      field: text,
    }))
  }
}

/** One for each field, in the order of the managers' names. Their texts are a product: a short
 *  object has many fields, and each may lie below names of some hundred kilobytes. */
export function conflictsOf(taken: Iterable<OwnedFields>): Conflict[] {
  const conflicts: Conflict[] = []
  let length = 0
  for (const { manager, fields } of [...taken].sort(byName)) {
    fields.visit(path => {
      const text = pathText(path)
      length += text.length * timesTold + manager.name.length
      if (length > errorsMaxLength) throw tooLarge('the conflicts of the apply are too long')
      conflicts.push({ manager, path: [...path], text })
    })
  }
  return conflicts
}

/** The number of times that a conflict is named: in the message, and as a cause. */
const timesTold = 2

function byName(a: OwnedFields, b: OwnedFields): number {
  return compareUtf8(a.manager.name, b.manager.name)
}

function conflictsText(conflicts: readonly Conflict[]): string {
  const [first] = conflicts
  if (first !== undefined && conflicts.length === 1) {
    const { manager, text } = first
    return `Apply failed with 1 conflict: conflict with ${managerText(manager)}: ${text}`
  }
  const byManager = new Map<string, string[]>()
  for (const { manager, text } of conflicts) {
    const name = managerText(manager)
    const paths = byManager.get(name) ?? []
    paths.push(`- ${text}`)
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
