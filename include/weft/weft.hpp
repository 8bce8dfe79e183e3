// Host code includes this one header.
#pragma once

#include <weft/collective.hpp>
#include <weft/context.hpp>
#include <weft/on_stream.hpp>
#include <weft/options.hpp>
#include <weft/runtime.hpp>
#include <weft/signal.hpp>
#include <weft/result.hpp>
#include <weft/team.hpp>
#include <weft/types.hpp>
#include <weft/version.hpp>
#include <weft/wait.hpp>
