/** The work that checking one object by the schema of its definition may take. Both are made by
 *  clients, and what they cost is a product: each of two thousand alternatives is tried with all of
 *  a large value. kube-apiserver has no such bounds; what is beyond ours is refused. */

import { errorsMaxLength, tooLarge } from '../refusals.ts'

export interface Budget {
  /** Values checked by a schema, alternatives counted one by one: about a microsecond each. */
  checks: number
  /** States of patterns that are followed: 150 ns each, in one step for each text. */
  states: number
  /** Characters of errors: each may name a thousand choices. */
  characters: number
}

export function fullBudget(): Budget {
  return { checks: 2_000_000, states: 2_000_000, characters: errorsMaxLength }
}

/** The budget of the object that is checked now. */
let current = fullBudget()

/** Makes this budget the one to spend from: other objects may be checked between two steps. */
export function spendFrom(budget: Budget): void {
  current = budget
}

/** Spends a part of the budget; throws when nothing is left. */
export function spend(what: keyof Budget, amount: number): void {
  current[what] -= amount
  if (current[what] < 0) throw tooLarge(refusals[what])
}

const refusals: Readonly<Record<keyof Budget, string>> = {
  checks: 'checking the object by the schema of its definition takes too long',
  states: 'matching the patterns of the definition takes too long',
  characters: 'the errors of the object are too long',
}
