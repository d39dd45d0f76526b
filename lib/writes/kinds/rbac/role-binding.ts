/** RoleBindings: a role for subjects in one namespace. */

import { type BuiltInKind, kind } from '../kind.ts'
import { checkBinding } from './shared/bindings.ts'
import { rulesOf } from './shared/rules.ts'

export const roleBinding: BuiltInKind = kind({
  group: 'rbac.authorization.k8s.io',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  createsOnUpdate: true,
  ...rulesOf(object => checkBinding(object, true), true),
})
