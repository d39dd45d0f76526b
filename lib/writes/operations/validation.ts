/** The checks of objects before they are stored. */

import type { JsonObject } from '@watchglass/go'
import { customRulesOf, type Findings } from '../custom/custom-rules.ts'
import { invalidObject } from '../field-errors.ts'
import { metaText, textOf } from '../metadata.ts'
import { finalizerWarnings } from '../custom/finalizer-warnings.ts'
import { warningsAbout } from '../warnings/warnings.ts'
import { claimErrors } from './claim-permissions.ts'
import { validateBuiltIn } from '../validation/validate.ts'
import { groupOfObject, type WriteKind } from '../write-kind.ts'
import type { WriteSession } from './session.ts'

interface KindInError {
  readonly group: string
  readonly kind: string
}

export function validateCreate(session: WriteSession, object: JsonObject): Promise<void> {
  return check(session, object, undefined)
}

export function validateUpdate(
  session: WriteSession,
  object: JsonObject,
  old: JsonObject,
): Promise<void> {
  return check(session, object, old)
}

async function check(
  session: WriteSession,
  object: JsonObject,
  old: JsonObject | undefined,
): Promise<void> {
  const { kind, subresource } = session
  const { errors, warnings }: Findings =
    kind.definition === undefined
      ? { errors: validateBuiltIn(kind, object, old, subresource), warnings: [] }
      : await session.slice.take(customRulesOf(kind).validate(object, old, subresource))
  session.warn(warnings)
  await session.slice.giveWay()
  const all = [...(await claimErrors(session, object, old)), ...errors]
  if (all.length > 0) {
    await session.slice.giveWay()
    const of = kind.definition === undefined ? writtenAs(kind) : saidToBe(object)
    throw invalidObject(of, metaText(object, 'name'), all)
  }
  if (kind.definition === undefined) {
    const { keyPairProblem } = session.services
    session.warn(warningsAbout(kind, { object, old, subresource, keyPairProblem }))
  } else if (subresource === '') {
    session.warn(finalizerWarnings(object, old))
  }
}

function writtenAs(kind: WriteKind): KindInError {
  return { group: groupOfObject(kind), kind: kind.kind }
}

/** A custom object is told of as what it says that it is. */
function saidToBe(object: JsonObject): KindInError {
  const [, group = ''] = /^(.*)\//.exec(textOf(object.get('apiVersion'))) ?? []
  return { group, kind: textOf(object.get('kind')) }
}
