#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
}
#endif

namespace paceline::stand_in {

// While it lives, what the thread locks and unlocks orders nothing for ThreadSanitizer: the queue
// of a stream is no more than the way work gets there.
class Unordered {
 public:
#if defined(__SANITIZE_THREAD__)
  Unordered() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  }
  ~Unordered() {
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  Unordered() {}
  ~Unordered() {}
#endif
  Unordered(const Unordered&) = delete;
  Unordered& operator=(const Unordered&) = delete;
};

}  // namespace paceline::stand_in
