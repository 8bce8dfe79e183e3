#include "tests/support/faulty_fabric/hooks.hpp"

#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <unordered_map>

namespace faulty_fabric {

namespace {

// The tables of one object: those that it has now, and those that it had before.
struct Hook {
  const fid_domain* domain_of = nullptr;  // of a queue or an endpoint
  fi_ops fid{};
  fi_ops* fid_was = nullptr;
  fi_ops_fabric fabric{};
  fi_ops_fabric* fabric_was = nullptr;
  fi_ops_domain domain{};
  fi_ops_domain* domain_was = nullptr;
  fi_ops_mr memory{};
  fi_ops_mr* memory_was = nullptr;
  fi_ops_av names{};
  fi_ops_av* names_was = nullptr;
  fi_ops_cq queue{};
  fi_ops_cq* queue_was = nullptr;
  fi_ops_cm address{};
  fi_ops_cm* address_was = nullptr;
  fi_ops_msg messages{};
  fi_ops_msg* messages_was = nullptr;
  fi_ops_rma rma{};
  fi_ops_rma* rma_was = nullptr;
};

std::mutex mutex;
std::unordered_map<const fid*, std::unique_ptr<Hook>>& hooks() {
  static auto* const all = new std::unordered_map<const fid*, std::unique_ptr<Hook>>;
  return *all;
}
Hook& hook_of(const fid& object) {
  const std::lock_guard lock(mutex);
  return *hooks().at(&object);
}

// A read or write that messages overtake.
struct Held {
  fid_ep* endpoint;
  bool reads;
  fi_msg_rma message;
  iovec mine;
  fi_rma_iov theirs;
  void* key;
  std::uint64_t flags;
};
std::list<Held>& held() {
  static auto* const all = new std::list<Held>;
  return *all;
}

int close_it(fid* object) {
  std::unique_ptr<Hook> hook;
  {
    const std::lock_guard lock(mutex);
    held().remove_if([&](const Held& each) { return &each.endpoint->fid == object; });
    hook = std::move(hooks().at(object));
    hooks().erase(object);
  }
  object->ops = hook->fid_was;
  count_opened(-1);
  return object->ops->close(object);
}

int control_it(fid* object, int command, void* argument) {
  const int failed =
      command == FI_ENABLE && object->fclass == FI_CLASS_EP ? failure_of("fi_enable") : 0;
  return failed != 0 ? failed : hook_of(*object).fid_was->control(object, command, argument);
}

// The table of functions of T's, to be changed.
template <class Ops>
Ops& replace(Ops*& used, Ops& now, Ops*& was) {
  was = used;
  now = *used;
  used = &now;
  return now;
}

Hook& hook(fid& object) {
  auto fresh = std::make_unique<Hook>();
  Hook& made = *fresh;
  fi_ops& ops = replace(object.ops, made.fid, made.fid_was);
  ops.close = close_it;
  ops.control = control_it;
  count_opened(1);
  const std::lock_guard lock(mutex);
  hooks()[&object] = std::move(fresh);
  return made;
}

// --- a domain's ----------------------------------------------------------------------------------

int insert(fid_av* names, const void* address, std::size_t count, fi_addr_t* made,
           std::uint64_t flags, void* context) {
  if (const int failed = failure_of("fi_av_insert"); failed != 0) return failed;
  return hook_of(names->fid).names_was->insert(names, address, count, made, flags, context);
}

int av_open(fid_domain* domain, fi_av_attr* attributes, fid_av** names, void* context) {
  if (const int failed = failure_of("fi_av_open"); failed != 0) return failed;
  const int result = hook_of(domain->fid).domain_was->av_open(domain, attributes, names, context);
  if (result != 0) return result;
  Hook& mine = hook((*names)->fid);
  replace((*names)->ops, mine.names, mine.names_was).insert = insert;
  return 0;
}

ssize_t move(Held& one) {
  one.message.msg_iov = &one.mine;
  one.message.rma_iov = &one.theirs;
  one.message.desc = &one.key;
  const fi_ops_rma& real = *hook_of(one.endpoint->fid).rma_was;
  return one.reads ? real.readmsg(one.endpoint, &one.message, one.flags)
                   : real.writemsg(one.endpoint, &one.message, one.flags);
}

// Some of what is held by a domain goes on, at times: by whoever may call there now.
void let_go(const fid_domain* domain) {
  static std::minstd_rand random;
  std::list<Held> going;
  {
    const std::lock_guard lock(mutex);
    for (auto each = held().begin(); each != held().end();) {
      const auto next = std::next(each);
      if (hooks().at(&each->endpoint->fid)->domain_of == domain && random() % 4 == 0)
        going.splice(going.end(), held(), each);
      each = next;
    }
  }
  for (auto each = going.begin(); each != going.end();) {
    const auto next = std::next(each);
    if (move(*each) == 0) going.erase(each);
    each = next;
  }
  const std::lock_guard lock(mutex);
  held().splice(held().end(), going);
}

// A completion of a read or write that came out well counts as an error, if it is to be.
thread_local void* failed_context = nullptr;

ssize_t cq_read(fid_cq* queue, void* entries, std::size_t count) {
  if (settings().unordered) let_go(hook_of(queue->fid).domain_of);
  const ssize_t read = hook_of(queue->fid).queue_was->read(queue, entries, is_cut() ? 1 : count);
  if (read != 1 || !is_cut()) return read;
  const auto* const entry = static_cast<const fi_cq_msg_entry*>(entries);
  if ((entry->flags & FI_RMA) == 0) return read;
  failed_context = entry->op_context;
  return -FI_EAVAIL;
}

ssize_t cq_readerr(fid_cq* queue, fi_cq_err_entry* error, std::uint64_t flags) {
  if (failed_context == nullptr) return hook_of(queue->fid).queue_was->readerr(queue, error, flags);
  error->op_context = failed_context;
  error->err = FI_ECONNRESET;
  error->prov_errno = 0;
  failed_context = nullptr;
  return 1;
}

int cq_open(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  if (const int failed = failure_of("fi_cq_open"); failed != 0) return failed;
  if (settings().nofile && attributes->wait_obj != FI_WAIT_NONE) return -FI_ENOSYS;
  const int result = hook_of(domain->fid).domain_was->cq_open(domain, attributes, queue, context);
  if (result != 0) return result;
  Hook& mine = hook((*queue)->fid);
  mine.domain_of = domain;
  fi_ops_cq& ops = replace((*queue)->ops, mine.queue, mine.queue_was);
  ops.read = cq_read;
  ops.readerr = cq_readerr;
  return 0;
}

// Where memory begins that was registered when keys were the provider's to make and addresses named
// bytes, by key; of all domains of this process.
std::unordered_map<std::uint64_t, std::uint64_t>& bases() {
  static auto* const all = new std::unordered_map<std::uint64_t, std::uint64_t>;
  return *all;
}
std::uint64_t note_base(const void* base) {
  const std::lock_guard lock(mutex);
  const std::uint64_t key = 1000 + bases().size();
  bases()[key] = reinterpret_cast<std::uint64_t>(base);
  return key;
}
std::uint64_t base_of(std::uint64_t key) {
  const std::lock_guard lock(mutex);
  const auto found = bases().find(key);
  return found == bases().end() ? 0 : found->second;
}

int reg(fid* object, const void* base, std::size_t bytes, std::uint64_t access,
        std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** memory,
        void* context) {
  if (const int failed = failure_of("fi_mr_reg"); failed != 0) return failed;
  if (settings().strict) key = note_base(base);
  const int result = hook_of(*object).memory_was->reg(object, base, bytes, access, offset, key,
                                                      flags, memory, context);
  if (result == 0) hook((*memory)->fid);
  return result;
}

// For as long as it lives, the description says what the real library said: rxm, told that memory
// is registered by its user, takes a long message's bytes from the start of that registration.
class AsItIs {
 public:
  explicit AsItIs(fi_info& info)
      : attributes_(*info.domain_attr),
        progress_(attributes_.data_progress),
        memory_mode_(attributes_.mr_mode) {
    if (settings().offload) attributes_.data_progress = FI_PROGRESS_MANUAL;
    if (settings().strict) attributes_.mr_mode = real_memory_mode();
  }
  ~AsItIs() {
    attributes_.data_progress = progress_;
    attributes_.mr_mode = memory_mode_;
  }
  AsItIs(const AsItIs&) = delete;
  AsItIs& operator=(const AsItIs&) = delete;

 private:
  fi_domain_attr& attributes_;
  const fi_progress progress_;
  const int memory_mode_;
};

// --- an endpoint's -------------------------------------------------------------------------------

int getname(fid* object, void* address, std::size_t* bytes) {
  if (const int failed = failure_of("fi_getname"); failed != 0) return failed;
  return hook_of(*object).address_was->getname(object, address, bytes);
}

ssize_t recv(fid_ep* endpoint, void* buffer, std::size_t bytes, void* key, fi_addr_t from,
             void* context) {
  if (const int failed = failure_of("fi_recv"); failed != 0) return failed;
  if (settings().strict && key == nullptr) count_unregistered();
  return hook_of(endpoint->fid).messages_was->recv(endpoint, buffer, bytes, key, from, context);
}

ssize_t inject(fid_ep* endpoint, const void* buffer, std::size_t bytes, fi_addr_t to) {
  if (const int failed = failure_of("fi_inject"); failed != 0) return failed;
  if (is_busy()) return -FI_EAGAIN;
  return hook_of(endpoint->fid).messages_was->inject(endpoint, buffer, bytes, to);
}

ssize_t post(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags, bool reads) {
  if (const int failed = failure_of(reads ? "fi_readmsg" : "fi_writemsg"); failed != 0)
    return failed;
  if (settings().strict && message->desc[0] == nullptr) count_unregistered();
  if (is_busy()) return -FI_EAGAIN;
  Held one{endpoint,         reads, *message, message->msg_iov[0], message->rma_iov[0],
           message->desc[0], flags};
  if (settings().strict) one.theirs.addr -= base_of(one.theirs.key);
  if (!settings().unordered) return move(one);
  const std::lock_guard lock(mutex);
  held().push_back(one);
  return 0;
}
ssize_t readmsg(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return post(endpoint, message, flags, true);
}
ssize_t writemsg(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  return post(endpoint, message, flags, false);
}

int endpoint(fid_domain* domain, fi_info* info, fid_ep** made, void* context) {
  if (const int failed = failure_of("fi_endpoint"); failed != 0) return failed;
  const AsItIs real(*info);
  const int result = hook_of(domain->fid).domain_was->endpoint(domain, info, made, context);
  if (result != 0) return result;
  Hook& mine = hook((*made)->fid);
  mine.domain_of = domain;
  replace((*made)->cm, mine.address, mine.address_was).getname = getname;
  fi_ops_msg& messages = replace((*made)->msg, mine.messages, mine.messages_was);
  messages.recv = recv;
  messages.inject = inject;
  fi_ops_rma& rma = replace((*made)->rma, mine.rma, mine.rma_was);
  rma.readmsg = readmsg;
  rma.writemsg = writemsg;
  return 0;
}

int domain(fid_fabric* fabric, fi_info* info, fid_domain** made, void* context) {
  if (const int failed = failure_of("fi_domain"); failed != 0) return failed;
  const AsItIs real(*info);
  const int result = hook_of(fabric->fid).fabric_was->domain(fabric, info, made, context);
  if (result != 0) return result;
  Hook& mine = hook((*made)->fid);
  fi_ops_domain& ops = replace((*made)->ops, mine.domain, mine.domain_was);
  ops.av_open = av_open;
  ops.cq_open = cq_open;
  ops.endpoint = endpoint;
  replace((*made)->mr, mine.memory, mine.memory_was).reg = reg;
  return 0;
}

}  // namespace

int hook_fabric(fid_fabric* fabric) {
  Hook& mine = hook(fabric->fid);
  replace(fabric->ops, mine.fabric, mine.fabric_was).domain = domain;
  return 0;
}

}  // namespace faulty_fabric
