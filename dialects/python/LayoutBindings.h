//===- LayoutBindings.h - Layouts as seen from Python -----------*- C++ -*-===//
#ifndef TILEC_PYTHON_LAYOUTBINDINGS_H
#define TILEC_PYTHON_LAYOUTBINDINGS_H

#include <nanobind/nanobind.h>

namespace tilec {

/// Adds the submodule `layouts`.
void bindLayouts(nanobind::module_ &parent);

} // namespace tilec

#endif // TILEC_PYTHON_LAYOUTBINDINGS_H
