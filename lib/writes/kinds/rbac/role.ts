/** Roles: rules about resources of one namespace. */

import { type BuiltInKind, kind } from '../kind.ts'
import { checkRules, rulesOf } from './shared/rules.ts'

export const role: BuiltInKind = kind({
  group: 'rbac.authorization.k8s.io',
  kind: 'Role',
  plural: 'roles',
  createsOnUpdate: true,
  ...rulesOf(object => checkRules(object, true), true),
})
